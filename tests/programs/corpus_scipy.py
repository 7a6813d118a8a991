"""SciPy's splines, grids and linear systems with odd arguments: not finite, of single precision, integers, exact poles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.interpolate as si
import scipy.signal as ss

from tests.programs.observe import PROGRAMS

X = np.linspace(0.0, 3.0, 8)
Y = np.sin(2 * X)
BAD = np.where(X == X[3], np.nan, Y)
NUM, DEN = np.array([0.2, 0.3]), np.array([1.0, 2.0, 3.0])
WITH_ZEROS = np.array([1.0, 0.0, 4.0])  # 2j is a pole


def a_smoothing_spline_of_nan(x, y):
    u = si.UnivariateSpline(x, y, s=0.5)
    return u.get_coeffs(), np.round(u(1.0), 6)


def its_sum_of_squares_is_a_float(x, y):
    return type(si.UnivariateSpline(x, y, s=0.5).get_residual())


def its_smoothing_is_set_anew(x, y):
    u = si.UnivariateSpline(x, y, s=0.1)
    u.set_smoothing_factor(2.0)
    return np.round(u(x), 6)


def its_derivative_has_no_data(x, y):
    return si.UnivariateSpline(x, y, s=0.5).derivative().get_residual()


def a_curve_with_given_parameters(x, y):
    tck, u = si.splprep([x, y], u=x, s=0.3)
    return u is x, [np.round(v, 5) for v in tck[1]]


def a_curve_of_single_precision(x, y):
    return si.make_splprep([x.astype(np.float32), y.astype(np.float32)], s=1)[1]


def a_penalized_spline(x, y):
    return np.round(si.make_smoothing_spline(x, y, lam=0.3)(x), 6)


def zeros_that_rounding_makes(x, y):
    return np.round(si.CubicSpline(x[:3], y[:3]).roots(), 6)


def a_grid_by_pchip(x, y):
    return si.RegularGridInterpolator((x,), y.astype(np.float32), method="pchip")([[1.0], [2.0]])


def a_grid_by_steps(x, y):
    return si.RegularGridInterpolator((x,), y.astype(np.float32), method="nearest")([[1.0], [2.0]])


def a_grid_by_splines(x, y):
    r = si.RegularGridInterpolator((x,), y, method="cubic", bounds_error=False)
    return np.round(r([[1.0], [y[3]], [9.0]], nu=[4]), 6)


def a_grid_at_one_point(x, y):
    r = si.RegularGridInterpolator((x, x), np.outer(y, x), bounds_error=False)
    return r((1.0, 2.0)), r([1.0, 2.0]), r([1.0, 2.0, x[3], y[3]])


def a_grid_at_nan(x, y):
    return si.RegularGridInterpolator((x,), x * 2)([[1.0], [abs(y[3])]])


def a_grid_by_pchip_at_nan(x, y):
    r = si.RegularGridInterpolator((x, x), np.outer(x, x), method="pchip", bounds_error=False)
    return r([[1.0, 2.0], [1.0, abs(y[3])]])


def a_transfer_function(num, den, w):
    return ss.tf2ss(num, den)


def its_coefficients_again(num, den, w):
    return ss.ss2tf(*ss.tf2ss(num, den))


def a_polynomial_of_zeros(num, den, w):
    return ss.zpk2tf(num, den, 2.0)


def its_answers(num, den, w):
    y = ss.freqresp((num, den), [w, 1.0])[1]
    return np.round(y.real, 9), y.dtype


def its_answer_to_a_number(num, den, w):
    return ss.freqresp((num, den), w)[0]


def steps_of_a_time(num, den, w):
    return ss.dstep((num, den, w), n=4)[0]


def a_filter_lies_in_memory(num, den, w):
    return ss.butter(2, w / 3)


def not_complex(num, den, w):
    try:
        return ss.step((num * 1j, den), T=[0.0, w])[0]
    except ValueError:
        return "caught"


DATA = [(X, Y), (X, BAD)]
SYSTEMS = [
    (NUM, DEN, 0.5),
    (NUM.astype(np.float32), DEN.astype(np.float32), np.float32(0.5)),
    (np.array([1, 2]), np.array([1, 3, 2]), 1),
    (np.array([np.nan, 1.0]), DEN, 0.5),
    (NUM, WITH_ZEROS, 2.0),
]


def _of(f: Callable[..., Any], calls: list[Any]) -> Callable[[], Any]:
    return lambda: (f, [tuple(np.copy(x) if np.ndim(x) else x for x in call) for call in calls], None)


for _f in (
    a_smoothing_spline_of_nan,
    its_sum_of_squares_is_a_float,
    its_smoothing_is_set_anew,
    its_derivative_has_no_data,
    a_curve_with_given_parameters,
    a_curve_of_single_precision,
    a_penalized_spline,
    zeros_that_rounding_makes,
    a_grid_by_pchip,
    a_grid_by_steps,
    a_grid_by_splines,
    a_grid_at_one_point,
    a_grid_at_nan,
    a_grid_by_pchip_at_nan,
):
    PROGRAMS[f"scipy: {_f.__name__}"] = _of(_f, DATA)
for _f in (
    a_transfer_function,
    its_coefficients_again,
    a_polynomial_of_zeros,
    its_answers,
    its_answer_to_a_number,
    steps_of_a_time,
    a_filter_lies_in_memory,
    not_complex,
):
    PROGRAMS[f"scipy: {_f.__name__}"] = _of(_f, SYSTEMS)
