"""PTX of kernels on disk: found by text and compute capability; made again where it is not sound."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import tracejit as tj
from tracejit.errors import CacheEntryWarning
from tracejit.lowering.cuda import ptx

TEXT = "define ptx_kernel void @k(ptr %x) {\n  store i64 7, ptr %x\n  ret void\n}"


class Driver:
    """What loads PTX, and notes it."""

    def __init__(self) -> None:
        self.did: list[str] = []
        self.is_broken = False

    def load(self, code: bytes) -> Any:
        assert b".visible .entry k" in code
        if self.is_broken:
            self.is_broken = False
            self.did.append("refuse")
            raise RuntimeError("CUDA_ERROR_INVALID_PTX")
        self.did.append("load")
        return code

    def __call__(self, text: str = TEXT, cc: tuple[int, int] = (9, 0)) -> Any:
        self.did.clear()
        return ptx.loaded(text, cc, self.load)


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    made = Driver()
    assemble = ptx.assemble

    def noted(text: str, cc: tuple[int, int]) -> str:
        made.did.append("assemble")
        return assemble(text, cc)

    monkeypatch.setattr(ptx, "assemble", noted)
    with tj.config.override(cache=str(tmp_path)):
        yield made


def test_a_second_process_does_not_run_llvm(driver: Driver) -> None:
    code = driver()
    assert driver.did == ["assemble", "load"] and b"sm_90" in code
    assert driver() == code and driver.did == ["load"]


def test_another_card_or_text_is_another_entry(driver: Driver) -> None:
    driver()
    others: tuple[Any, ...] = ((TEXT, (8, 0)), (TEXT.replace("7", "8"),))
    for other in others:
        driver(*other)
        assert driver.did == ["assemble", "load"]


def test_what_the_driver_does_not_load_is_made_again(driver: Driver) -> None:
    code = driver()
    driver.is_broken = True
    with pytest.warns(CacheEntryWarning, match="CUDA_ERROR_INVALID_PTX"):
        assert driver() == code
    assert driver.did == ["refuse", "assemble", "load"] and driver() == code and driver.did == ["load"]


def test_without_a_folder_nothing_is_kept(driver: Driver) -> None:
    with tj.config.override(cache="off"):
        for _ in range(2):
            driver()
            assert driver.did == ["assemble", "load"]
