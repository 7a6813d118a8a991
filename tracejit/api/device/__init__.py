"""Functions on a device: arrays that are there, and programs of jitted functions that run there.

In come arrays of a device or of the host, and out go arrays of the device. Read `held` (how a device's array is an
argument), `programs` (a traced function on a device), `places` (what users call).
"""
