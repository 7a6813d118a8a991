"""Programs that measure their data by Python's `statistics`. Those in `NATIVE` have to be native."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable
from operator import mul
from statistics import NormalDist, mean, pstdev, stdev
from typing import Any

import numpy as np

from tests.programs.observe import Maker, program

#: Programs that Python must not have to run.
NATIVE: list[Maker] = []


def of_samples(f: Callable[..., Any]) -> Maker:
    """Enter a program of twelve numbers and weights."""

    def maker() -> Any:
        rng = np.random.default_rng(3)
        x, w = rng.normal(size=12), rng.uniform(0.1, 2.0, size=12)
        return f, [(x, w), (1e6 + x, w), (np.round(x), w), (-x, w)], None

    maker.__name__, maker.__module__ = f.__name__, __name__
    return program(maker)


def native(f: Callable[..., Any]) -> Maker:
    """Enter one that has to be native."""
    NATIVE.append(of_samples(f))
    return NATIVE[-1]


@native
def standardises(x, w):
    m, s = mean(x), stdev(x)
    return (x - m) / s, m, s


@native
def measures_of_lists(x, w):
    xs = x.tolist()
    return (
        mean(xs),
        pstdev(xs),
        statistics.variance(xs),
        statistics.pvariance(xs, mean(xs)),
        statistics.fmean(xs),
    )


@native
def measures_of_rows(x, w):
    return [round(mean(row), 6) for row in x.reshape(3, 4)], [stdev(row) for row in x.reshape(4, 3)]


@native
def integers_and_fractions_of_them(x, w):
    counts = [int(v) for v in x * 3 % 7]
    return mean(counts), statistics.variance(counts), stdev(counts), statistics.mode(counts)


@native
def middles(x, w):
    cuts = statistics.quantiles(x.tolist(), n=4)
    inclusive = statistics.quantiles(x, n=10, method="inclusive")
    return statistics.median(x), statistics.median_low(x.tolist()), statistics.median_high(x), cuts, inclusive


@native
def means_of_rates(x, w):
    return statistics.harmonic_mean(w), statistics.harmonic_mean([2, 4.0, 8]), statistics.mode(np.round(x))


@native
def weights_by_hand(x, w):
    return math.fsum(map(mul, x, w)) / math.fsum(w), math.fsum(v * v for v in x), math.fsum([])


@native
def a_line_through_points(x, w):
    line = statistics.linear_regression(x, w)
    return line.slope, line.intercept, statistics.correlation(x, w), statistics.covariance(x, w)


@native
def normal_distributions(x, w):
    d = NormalDist.from_samples(x)
    other = NormalDist(d.mean + 1.0, 2.0)
    both = d + other
    return d.mean, d.stdev, both.mean, both.stdev, (other - 3.0).zscore(x[0]), other.variance


@native
def means_that_are_known(x, w):
    m = mean(x)
    return stdev(x, xbar=m), pstdev(x, mu=w[0]), statistics.variance(x, xbar=None), statistics.pvariance(x, m)


@native
def sums_of_a_traced_number(x, w):
    large = np.concatenate([x * 1e16, w, -1e16 * x])
    some = large[large != w[0]]
    return math.fsum(some), statistics.fmean(some), math.fsum(x[x > 1e9])


@of_samples
def sums_of_rows_and_complex_numbers(x, w):
    said = []
    for values in (x.reshape(3, 4), x.reshape(12, 1), x + 1j):
        try:
            said.append(math.fsum(values))
        except TypeError as e:
            said.append(str(e))
    return said


@of_samples
def arguments_that_there_are_not(x, w):
    try:
        return mean(x, mu=w[0])  # type: ignore[call-arg]
    except TypeError as e:
        return str(e)


@of_samples
def more_than_there_are(x, w):
    try:
        return stdev(x[:1].tolist())
    except statistics.StatisticsError as e:
        return str(e)


@of_samples
def sums_that_are_not_finite(x, w):
    y = x.copy()
    y[3] = np.inf
    return mean(y), statistics.fmean(x * 1e307), statistics.multimode(np.round(x))


@of_samples
def what_has_another_type(x, w):
    return mean(x.astype(np.float32)), statistics.fmean(np.arange(3)), mean([x[0], 2, 3.0])


@of_samples
def ties_and_cancelled_sums(x, w):
    tiny = np.nextafter(1.0, 2.0)
    return (
        mean([1.0 * w[0] / w[0], tiny]),
        math.fsum([1e16, x[0], -1e16]),
        mean([x[0], -x[0]]),
        stdev([x[0], x[0]]),
    )
