"""The one ordered list of passes, and the loop that runs it."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tracejit.config import config
from tracejit.ir.check import check_jaxpr
from tracejit.ir.jaxpr import Jaxpr
from tracejit.passes.barriers import barriers
from tracejit.passes.chains import chains
from tracejit.passes.cse import cse
from tracejit.passes.dce import dce
from tracejit.passes.hoist import hoist
from tracejit.passes.inline import inline
from tracejit.passes.layout import layout
from tracejit.passes.loops import loops
from tracejit.passes.products import products
from tracejit.passes.rewrite import Pass
from tracejit.passes.simplify import simplify
from tracejit.timeline import span

Watch = Callable[[str, Jaxpr], None]

#: Calls first, so that every later pass sees one flat program; dead code early, since
#: derivatives leave much of it; loops before simplify, since it hands constants to bodies, and behind it, since what a
#: step writes back as it was is a carry that never changes;
#: products and hoist after cse, so that each equation leaves once; barriers when nothing is merged any more;
#: dce sweeps up behind them.
PASSES: tuple[Pass, ...] = (
    inline,
    dce,
    loops,
    simplify,
    loops,
    cse,
    chains,
    layout,
    products,
    hoist,
    barriers,
    dce,
)
#: Those that add and multiply in another order than was written.
REORDERING = (chains,)


def run(jaxpr: Jaxpr, watch: Watch | None = None, fastmath: bool = False) -> Jaxpr:
    """`jaxpr` through all passes, those of `REORDERING` with `fastmath` only. `watch(name, jaxpr)` is called
    after each that changed it."""
    for p in PASSES:
        if p in REORDERING and not fastmath:
            continue
        with span("pass", p.name):
            new = p(jaxpr)
        if new is jaxpr:
            continue
        jaxpr = new
        if config.check_types:
            check_jaxpr(jaxpr)
        if config.debug >= 3:
            print(f"-- after {p.name}\n{jaxpr}", file=sys.stderr)
        if watch is not None:
            watch(p.name, jaxpr)
    return jaxpr
