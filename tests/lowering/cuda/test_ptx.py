"""Machine code of kernels on disk: found by text, compute capability and driver; made again where it is not sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracejit as tj
from tracejit.errors import CacheEntryWarning
from tracejit.lowering.cuda import ptx

TEXT = "define ptx_kernel void @k(ptr %x) {\n  store i64 7, ptr %x\n  ret void\n}"


class Driver:
    """What links and loads, and notes it."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.broken = ""

    def link(self, code: bytes) -> bytes:
        self.did.append("link")
        if self.broken == "link":
            raise RuntimeError("no linker")
        assert b".visible .entry k" in code
        return b"machine code of " + code[:40]

    def load(self, code: bytes) -> Any:
        self.did.append("load")
        if self.broken == "load":
            self.broken = ""
            raise RuntimeError("CUDA_ERROR_INVALID_IMAGE")
        return code

    def __call__(self, text: str = TEXT, cc: tuple[int, int] = (9, 0), driver: str = "13000") -> Any:
        self.did.clear()
        return ptx.loaded(text, cc, driver, self.link, self.load)


@pytest.fixture
def driver(tmp_path: Path) -> Any:
    with tj.config.override(cache=str(tmp_path)):
        yield Driver()


def test_a_second_process_runs_neither_llvm_nor_the_assembler(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = driver()
    assert driver.did == ["link", "load"] and code.startswith(b"machine code")
    monkeypatch.setattr(ptx, "assemble", None)
    assert driver() == code and driver.did == ["load"]


def test_another_card_driver_or_text_is_another_entry(driver: Driver) -> None:
    driver()
    others: tuple[Any, ...] = ((TEXT, (8, 0)), (TEXT, (9, 0), "13010"), (TEXT.replace("7", "8"),))
    for other in others:
        driver(*other)
        assert driver.did == ["link", "load"]


def test_what_the_driver_does_not_load_is_made_again(driver: Driver) -> None:
    code = driver()
    driver.broken = "load"
    with pytest.warns(CacheEntryWarning, match="CUDA_ERROR_INVALID_IMAGE"):
        assert driver() == code
    assert driver.did == ["load", "link", "load"] and driver() == code and driver.did == ["load"]


def test_without_a_linker_the_driver_loads_ptx(driver: Driver) -> None:
    driver.broken = "link"
    assert b".visible .entry k" in driver() and driver.did == ["link", "load"]
    driver()
    assert driver.did == ["link", "load"]


def test_without_a_folder_nothing_is_kept(driver: Driver) -> None:
    with tj.config.override(cache="off"):
        for _ in range(2):
            driver()
            assert driver.did == ["link", "load"]
