"""Convolutions, and reductions of windows.

In come arrays with strides, paddings and dilations, and out goes a value for each window. Read `conv_shapes`,
`sliding` (windows as views), `conv` with `conv_kernel`, then `pooling` and `selection` (the choice of an element).
"""
