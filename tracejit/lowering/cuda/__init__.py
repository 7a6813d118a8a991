"""Programs on a CUDA device: a plan of launches from the same loop IR, on a card or on the emulated device.

In comes a `Lowered` whose loops are marked for a device, and out goes a `running.DeviceProgram`, which is called with
arrays of the device. Read `nodes`, what a plan is, then `planner` (with `facts` and `words`), `fragments` and `kernels`
(the code), `hosting` and `libs` (what the host and the device's libraries do in between), `running`. Everything about
CUDA is in this folder: `card` and `emulated` are the two devices, `ptx` assembles.
"""
