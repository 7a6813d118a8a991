"""Programs over arrays in the other byte order, as instruments and old files have them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.programs.observe import program


@program
def calibrated_counts_of_a_detector() -> Any:
    def f(raw, gain):
        counts = raw.astype(raw.dtype.newbyteorder("="))
        dark = raw[:2].copy()
        return counts * gain, dark, raw.dtype.str, raw.dtype == np.dtype("i4")

    raw = np.arange(6, dtype=np.int32)
    return f, [(raw.astype(">i4"), 2.0), (raw, 3.0), (raw[::-1].astype(">i4"), 0.5)], lambda: None


@program
def bytes_of_a_frame() -> Any:
    def f(frame):
        part = frame[1:].view(np.uint8)
        return int(part.sum()), part[:4] + 1, frame.view("u4")[0] & 0xFF, np.zeros_like(frame)

    frame = np.arange(4, dtype=">f4")
    return f, [(frame,), (frame * 2,), (frame.astype("<f4"),)], lambda: None


@program
def a_table_that_was_read_before() -> Any:
    table = {"flux": np.arange(5.0).astype(">f8"), "error": np.ones(5)}

    def f(scale):
        flux = table["flux"]
        flux[0] += scale
        return (flux * scale / table["error"]).sum(), flux.dtype.byteorder, flux[1:3], str(flux.dtype)

    return f, [(1.0,), (2.0,), (3.0,)], lambda: table
