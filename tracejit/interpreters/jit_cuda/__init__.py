"""The door of the jit interpreter to CUDA devices.

In comes a jaxpr, and out goes a program that runs on arrays of a device. Read `device`.
"""
