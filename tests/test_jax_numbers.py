"""Which draws are JAX's: for each function what JAX 0.10.2 gave in its 64-bit mode. Of the others the guide for those
who come from JAX says that they are not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tests.test_jax_names import PAGE
from tracejit import random

KEY = random.key(3)
GIVEN: list[tuple[str, list[Any]]] = [
    ("key(7)", [0, 7]),
    ("split(KEY, 2)", [3716834203, 3481239269, 1946498123, 2217676430]),
    ("clone(KEY)", [0, 3]),
    ('bits(KEY, (3,), "uint32")', [318053758, 4029299397, 2787249374]),
    ('bits(KEY, (2,), "uint64")', [15963681350020464357, 8360145782228061838]),
    ("uniform(KEY, (3,))", [0.8653929000279257, 0.4532044109693594, 0.2385376809645079]),
    ('uniform(KEY, (3,), "float32", -1, 5)', [-0.5556845664978027, 4.628866195678711, 2.893742084503174]),
    ("normal(KEY, (3,))", [1.1048739767803086, -0.11756943795234803, -0.7110143201629989]),
    ('normal(KEY, (3,), "float32")', [-1.4462569952011108, 1.5393810272216797, 0.38250625133514404]),
    ("lognormal(KEY, 0.7, (3,))", [2.16714749362229, 0.9209969019087426, 0.6079211918322849]),
    ("truncated_normal(KEY, -1.0, 2.0, (3,))", [1.112606289563015, 0.07437988701031915, -0.3747561486643745]),
    ("exponential(KEY, (3,))", [2.005395114484557, 0.6036802410437376, 0.2725145904247457]),
    ("gumbel(KEY, (3,))", [1.9339800085872172, 0.23393656574686406, -0.35992923574975566]),
    ("laplace(KEY, (3,))", [-1.312247933924612, 0.09826483637360592, 0.7400808091076909]),
    ("logistic(KEY, (3,))", [1.860823458993228, -0.1877317758898137, -1.1607133992428906]),
    ("cauchy(KEY, (3,))", [2.2220633813529935, -0.14808103066851114, -1.07474370041384]),
    ("rayleigh(KEY, 2.0, (3,))", [1.0754409532515636, 2.5162066956966016, 3.3861222537500164]),
    ("weibull_min(KEY, 2.0, 3.0, (3,))", [2.522105871558914, 1.6903072312778773, 1.2966613984607416]),
    ("pareto(KEY, 2.0, (3,))", [2.725624448408196, 1.3523449972122057, 1.1459767099867826]),
    ("triangular(KEY, 0.0, 0.3, 1.0, (3,))", [0.6930391393345855, 0.381326489720589, 0.2675094471029993]),
    ("maxwell(KEY, (3,))", [1.3191324576340377, 0.9713450448937295, 2.0343937909172647]),
    ("double_sided_maxwell(KEY, 1.0, 2.0, (3,))", [3.086201571980329, 3.602046654751556, 4.283610594278013]),
    ("wald(KEY, 1.5, (3,))", [0.4949380455560707, 0.895994660587077, 1.4985521008767317]),
    ("randint(KEY, (4,), -5, 1000)", [611, 231, 238, 114]),
    ("bernoulli(KEY, 0.3, (8,))", [False, False, True, True, False, False, False, False]),
    ("rademacher(KEY, (8,))", [-1, 1, 1, 1, 1, -1, -1, -1]),
    ("categorical(KEY, np.log(np.arange(1.0, 7.0)), shape=(6,))", [5, 2, 4, 5, 4, 5]),
    ("permutation(KEY, 8)", [0, 5, 6, 7, 4, 2, 1, 3]),
    ("permutation(KEY, np.arange(6.0).reshape(3, 2), independent=True)", [0.0, 5.0, 4.0, 1.0, 2.0, 3.0]),
    ("choice(KEY, 10, (4,))", [1, 6, 3, 9]),
    ("choice(KEY, 10, (4,), replace=False)", [0, 5, 6, 7]),
    ("choice(KEY, 4, (6,), p=np.array([0.1, 0.2, 0.3, 0.4]))", [1, 2, 3, 3, 3, 2]),
    ("multivariate_normal(KEY, np.zeros(2), np.diag([2.0, 0.5]))", [1.5625277626758087, -0.08313414683639635]),
    ("orthogonal(KEY, 2)", [0.8409228151034727, -0.5411550785481465, -0.5411550785481465, -0.8409228151034728]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "given"), GIVEN, ids=[call for call, _ in GIVEN])
def test_draws_are_those_of_jax(call: str, given: list[Any]) -> None:
    got = np.asarray(eval(f"random.{call}", {"random": random, "KEY": KEY, "np": np}))
    rtol = 1e-5 if got.dtype == np.float32 else 1e-12
    np.testing.assert_allclose(got.ravel(), given, rtol=rtol, atol=1e-15)


def test_the_guide_lists_the_others() -> None:
    row = re.search(r"(?m)^- \*\*Other random numbers\*\*(.*?)^- ", PAGE.read_text("utf-8"), re.DOTALL)
    assert row
    others = set(re.findall(r"`(\w+)`", row[1].partition("They have")[0])) | {"fold_in"}
    same = {call.partition("(")[0] for call, _ in GIVEN}
    keys = {"PRNGKey", "key_data", "key_impl", "wrap_key_data", "integers"}  # integers: a name of NumPy's
    assert same | others | keys == set(random.__all__) and not same & others
