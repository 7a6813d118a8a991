"""The table of mechanisms."""

from __future__ import annotations

from benchmarks.ablation.of_code import CODE, REDUCTIONS, RUNTIME
from benchmarks.ablation.of_plans import DERIVATIVES, PASSES, PLANNING

MECHANISMS = (*PASSES, *DERIVATIVES, *PLANNING, *REDUCTIONS, *CODE, *RUNTIME)
BY_NAME = {m.name: m for m in MECHANISMS}
