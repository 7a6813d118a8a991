"""Gauss-Kronrod rules: the points and weights of QUADPACK (Piessens et al. 1983)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


class Rule:
    """A Gauss-Kronrod rule on [-1, 1], of the positive points and weights, the largest first, and 0."""

    nodes: np.ndarray
    kronrod: np.ndarray
    gauss: np.ndarray

    def __init__(self, nodes: Sequence[float], kronrod: Sequence[float], gauss: Sequence[float]) -> None:
        self.nodes = np.array([*nodes, *(-x for x in nodes[-2::-1])])
        self.kronrod = np.array([*kronrod, *kronrod[-2::-1]])
        inner = np.zeros(len(nodes))
        inner[1::2] = gauss
        self.gauss = np.array([*inner, *inner[-2::-1]])

    def in_vectors(self) -> Rule:
        """The same rule with its middle point, of no weight, so often again that all points lie in whole vectors: a few
        numbers that are left over take longer than another vector of them."""
        out: Rule = object.__new__(Rule)
        for name in ("nodes", "kronrod", "gauss"):
            x = getattr(self, name)
            setattr(out, name, np.concatenate([x, np.zeros(-x.size % _VECTOR)]))
        return out


#: How many numbers lie in the largest vectors of processors.
_VECTOR = 8


RULE21 = Rule(
    (
        *(0.9956571630258081, 0.9739065285171717, 0.9301574913557082, 0.8650633666889845, 0.7808177265864169),
        *(
            0.6794095682990244,
            0.5627571346686047,
            0.4333953941292472,
            0.2943928627014602,
            0.14887433898163122,
        ),
        0.0,
    ),
    (
        *(0.011694638867371874, 0.032558162307964725, 0.054755896574351995, 0.07503967481091996),
        *(0.0931254545836976, 0.10938715880229764, 0.12349197626206584, 0.13470921731147334),
        *(0.14277593857706009, 0.1477391049013385, 0.1494455540029169),
    ),
    (0.06667134430868814, 0.1494513491505806, 0.21908636251598204, 0.26926671930999635, 0.29552422471475287),
)
RULE15 = Rule(
    (
        *(0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945),
        *(0.5860872354676911, 0.4058451513773972, 0.20778495500789848, 0.0),
    ),
    (
        *(0.022935322010529224, 0.06309209262997856, 0.10479001032225019, 0.14065325971552592),
        *(0.1690047266392679, 0.19035057806478542, 0.20443294007529889, 0.20948214108472782),
    ),
    (0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694),
)
