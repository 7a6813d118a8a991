"""Which functions of the installed SciPy have traced forms: `python -m tracejit coverage`, docs/coverage.md."""

from __future__ import annotations

import importlib
import textwrap
import types
from typing import Any

import numpy as np

from tracejit.records import record
from tracejit.scipy import TRACED
from tracejit.scipy.distributions import PART, Hosted
from tracejit.scipy.hosting import calls
from tracejit.scipy.hosting.names import CLASSES, FOLLOWED

#: The modules of SciPy that compute from arrays.
MODULES = sorted(TRACED)
#: Parameters that take a function of the user's, which a call of SciPy's as it is can't be given.
_FUNCTIONS = frozenset(
    (
        "fun",
        "func",
        "f",
        "F",
        "function",
        "residual",
        "statistic",
        "fcn",
        "callable",
        "A_func",
        "U_fun",
        "evaluate",
    )
)
#: Functions that the figures leave out: they map no arrays to arrays, but set, ask for or plot something, take
#: distributions or give objects, draw at random, or make arrays of whole numbers and settings alone.
_NO_ARRAYS = {
    "cluster.hierarchy": "dendrogram int_floor set_link_color_palette to_tree",
    "fft": """
        fftfreq fhtoffset get_workers next_fast_len prev_fast_len register_backend rfftfreq set_backend
        set_global_backend set_workers skip_backend
    """,
    "integrate": "lebedev_rule newton_cotes",
    "linalg": """
        clarkson_woodruff_transform dft find_best_blas_type get_blas_funcs get_lapack_funcs hadamard helmert hilbert
        invhilbert invpascal pascal
    """,
    "ndimage": "find_objects generate_binary_structure iterate_structure value_indices",
    "optimize": "linprog_verbose_callback show_options",
    "signal": """
        band_stop_obj bessel besselap buttap butter buttord cheb1ap cheb1ord cheb2ap cheb2ord cheby1 cheby2 check_COLA
        check_NOLA choose_conv_method closest_STFT_dual_window correlation_lags czt_points ellip ellipap ellipord
        firwin firwin_2d gammatone get_window iircomb iirdesign iirfilter iirnotch iirpeak kaiser_atten kaiser_beta
        kaiserord max_len_seq remez savgol_coeffs unit_impulse
    """,
    "spatial": "convex_hull_plot_2d delaunay_plot_2d voronoi_plot_2d",
    "special": """
        bernoulli c_roots cg_roots chebyc chebys chebyt chebyu ellip_normal errstate euler gegenbauer genlaguerre geterr
        h_roots he_roots hermite hermitenorm j_roots jacobi js_roots l_roots la_roots laguerre legendre p_roots ps_roots
        s_roots seterr sh_chebyt sh_chebyu sh_jacobi sh_legendre t_roots ts_roots u_roots us_roots
    """,
    "stats": """
        abs boxcox_normplot exp log make_distribution order_statistic ortho_group ppcc_plot probplot random_correlation
        random_table special_ortho_group truncate uniform_direction unitary_group yeojohnson_normplot
    """,
}


#: Names that have forms of ours, which call SciPy's function when the program runs: as they are called by default.
#: Others do so for some of their options only.
_CALLING = {
    "interpolate": """
        griddata make_smoothing_spline make_splprep make_splrep sproot CloughTocher2DInterpolator LinearNDInterpolator
        NearestNDInterpolator UnivariateSpline
    """,
    "linalg": "fractional_matrix_power logm signm solve_continuous_are solve_discrete_are",
    "optimize": """
        basinhopping brute differential_evolution direct dual_annealing fmin_cobyla fmin_slsqp fmin_tnc linprog
        lsq_linear milp shgo
    """,
    "signal": "tf2sos zpk2sos",
    "spatial.distance": "directed_hausdorff rel_entr",
}


@record(frozen=True)
class Coverage:
    """The names of one module: with native forms, with forms that call SciPy's or called as they are (`host`), and
    others."""

    module: str
    native: list[str]
    host: list[str]
    missing: list[str]

    def counted(self) -> tuple[int, int, int]:
        """How many of the names map arrays to arrays: native, host calls, others."""
        theirs = importlib.import_module(f"scipy.{self.module}")
        n, h, m = (sum(_maps(self.module, x, getattr(theirs, x)) for x in names) for names in self.kinds())
        return n, h, m

    def kinds(self) -> tuple[list[str], list[str], list[str]]:
        return self.native, self.host, self.missing


def of(module: str) -> Coverage:
    """What there is of a module of SciPy, such as "signal"."""
    theirs = importlib.import_module(f"scipy.{module}")
    try:
        ours: Any = importlib.import_module(f"tracejit.scipy.{module}")
    except ModuleNotFoundError:
        ours = types.ModuleType(module)
    found = Coverage(module, [], [], [])
    for name in sorted(n for n in dir(theirs) if not n.startswith("_")):
        value = getattr(theirs, name)
        if _counts(value, theirs):
            native = name in (*ours.__dict__.get("__all__", ()), *CLASSES.get(module, ()))
            native = native or f"scipy.{module}.{name}" in FOLLOWED
            calling = native and name in _CALLING.get(module, "").split()
            kind = found.host if calling else found.native if native else _others(found, value)
            kind.append(name)
    return found


def _counts(value: Any, module: Any) -> bool:
    """Whether a name is a function, a class or a distribution, and the module's own."""
    if isinstance(value, np.ufunc):
        return True
    if isinstance(value, type):
        public = value.__name__ in getattr(module, "__all__", ())
        return public and not issubclass(value, (Exception, Warning))
    made = getattr(value, "__module__", None) or ""
    return callable(value) and made.startswith(f"scipy.{module.__name__.split('.')[1]}")


def _others(found: Coverage, value: Any) -> list[str]:
    hosted = calls.of(value) is not None or isinstance(PART.names.get(_name_of(value)), Hosted)
    return found.host if hosted and not _takes_function(value) else found.missing


def _name_of(value: Any) -> str:
    name = getattr(value, "name", "")
    return name if isinstance(name, str) else ""


def _takes_function(value: Any) -> bool:
    return not _FUNCTIONS.isdisjoint(calls.parameters(value)[:2])


def _maps(module: str, name: str, value: Any) -> bool:
    """Whether a name is a function that maps arrays to arrays, or a distribution."""
    if isinstance(value, type) or name in _NO_ARRAYS.get(module, "").split():
        return False
    if module == "special" and (name.endswith("_zeros") or name.startswith("roots_")):
        return False
    return isinstance(value, np.ufunc) or calls.RANDOM.isdisjoint(calls.parameters(value))


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "-"


def _figures(counted: list[tuple[int, int, int]]) -> tuple[str, str]:
    """Of the functions that map arrays to arrays: the share that run in compiled programs, and of native ones."""
    native, host, missing = (sum(counts) for counts in zip(*counted, strict=True))
    whole = native + host + missing
    return _share(native + host, whole), _share(native, whole)


def _rows() -> list[tuple[str, ...]]:
    """A line for each module, and one for all."""
    covered = list(map(of, MODULES))
    counted = [c.counted() for c in covered]
    rows = [
        (f"scipy.{c.module}", *(str(len(k)) for k in c.kinds()), *_figures([n]))
        for c, n in zip(covered, counted, strict=True)
    ]
    sums = (str(sum(len(c.kinds()[k]) for c in covered)) for k in range(3))
    return [*rows, ("all", *sums, *_figures(counted))]


_TITLES = ("native", "host call", "missing", "run inside jit", "natively")


def table() -> str:
    """The numbers, a line for each module."""
    rows = [("module", *_TITLES), *_rows()]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(w) for text, w in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join(lines) + "\n"


def page() -> str:
    """docs/coverage.md."""
    version = importlib.import_module("scipy").__version__
    out = _HEAD.format(version=version.rpartition(".")[0])
    for name, *numbers in _rows():
        out += f"| {f'`{name}`' if name != 'all' else '**all**'} | {' | '.join(numbers)} |\n"
    for c in map(of, MODULES):
        out += f"\n## scipy.{c.module}\n"
        for title, names in zip(("Native", "Host calls", "Missing"), c.kinds(), strict=True):
            if names:
                out += "\n" + textwrap.fill(f"{title}: `{' '.join(names)}`", 120) + "\n"
    return out


_HEAD = """# Functions of SciPy

`python -m tracejit coverage` counts the functions and classes of the installed SciPy; this page is what it writes with
`--markdown`, for SciPy {version}. *Native* names have traced forms: they are compiled, differentiated and batched,
as far as their options have such forms. *Host calls* are SciPy's own functions, which compiled programs call (see
[jit.md](jit.md#numpys-arrays)), some of them with derivatives of ours, such as the minima of `linprog`; the shapes of
their results must not depend on values. A function that uses one of the
*missing* names on traced values is run by Python under `jit`, and refused by other transformations.

The two figures are of the functions that map arrays to arrays (and distributions): classes are left out, and what sets,
asks or plots something, draws at random, or makes arrays of whole numbers and settings alone.

| | native | host call | missing | run inside `jit` | natively |
|---|---|---|---|---|---|
"""
