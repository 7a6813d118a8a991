"""Programs of classes as libraries have them: views that keep methods of dicts, properties that go on to those of a base,
exceptions of items and of hashes that are caught, and questions to the system."""

from __future__ import annotations

import copy
import os
from typing import Any

import numpy as np

from tests.programs.observe import program


class Edges:
    """The edges of a graph: it keeps a method of the graph's dict."""

    def __init__(self, graph: Any) -> None:
        self._links = graph.links
        self._pairs = self._links.items

    def __iter__(self) -> Any:
        for u, others in self._pairs():
            for v, weight in others.items():
                yield u, v, weight


class Graph:
    def __init__(self, links: dict[int, dict[int, float]]) -> None:
        self.links = links

    @property
    def edges(self) -> Edges:
        self.__dict__["_edges"] = made = Edges(self)
        return made

    def __contains__(self, n: Any) -> bool:
        try:
            return n in self.links
        except TypeError:
            return False


@program
def laplacian_of_a_graph() -> Any:
    def f(graph, x):
        chosen = [n for n in (0, [0], {1: 2}, 3) if n in graph]
        rows = np.zeros((len(graph.links), len(graph.links)))
        for u, v, weight in graph.edges:
            rows[u, v] -= weight
            rows[u, u] += weight
        return rows @ x, chosen, x in graph, sum(1 for _ in graph._edges)

    def calls():
        links = {0: {1: 2.0, 2: 0.5}, 1: {0: 2.0}, 2: {0: 0.5}}
        return [(Graph({k: dict(v) for k, v in links.items()}), np.arange(3.0) + n) for n in range(3)]

    return f, calls(), None


class Data:
    @property
    def values(self) -> Any:
        return self._values

    @values.setter
    def values(self, new: Any) -> None:
        self._values = np.atleast_2d(np.asarray(new, dtype=float))


BASE: Any = Data


class Signal(Data):
    def __init__(self, values: Any, rate: float) -> None:
        self.rate = rate
        self.values = values

    @property
    def values(self) -> Any:
        return super().values

    @values.setter
    def values(self, new: Any) -> None:
        BASE.values.fset(self, new)
        self.length = self._values.shape[-1] / self.rate


@program
def signals_that_check_what_they_are_given() -> Any:
    def f(x, rate):
        first = Signal(x, rate)
        padded = copy.deepcopy(first)
        padded.values = np.pad(first.values, ((0, 0), (0, 2)))
        return (
            padded.values,
            padded.length,
            first.length,
            BASE.values.fget(first).sum(),
            Data.values is Data.values,
        )

    return f, [(np.arange(4.0) + n, 2.0 + n) for n in range(3)], None


@program
def numbers_or_arrays() -> Any:
    """The item of a number can't be assigned, which the function expects."""

    def f(angle):
        out = np.arcsinh(np.tan(angle))
        steep = np.abs(np.cos(angle)) <= 0.8
        try:
            out[steep] = np.sign(angle[steep]) * np.inf
        except TypeError:
            if steep:
                out = np.sign(angle) * np.inf
        return out, os.cpu_count() is not None

    return f, [(0.2,), (np.float64(1.2),), (np.array([0.2, -1.3]),)], None
