"""Views after branches and loops: which array, and which view of it, a name is. And tuples, which are one object, too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tests.programs.observe import PROGRAMS

SOME = 5.0, 1.0, 0.0, 3.0


def a_branch_flattens(x, t):
    u = x + 1.0
    e = [u]
    if t > 2:
        u = u.ravel()
    return e, u


def a_branch_transposes_twice(x, t):
    u = x + 1.0
    e = [u]
    if t > 2:
        u = u.T.T
    return e, u


def a_loop_after_flattening(x, t):
    u = x + 1.0
    e = [u]
    u = u.reshape(-1)
    for i in range(int(t)):
        u = u + 1.0
    return e, u


def a_branch_takes_another_view(x, t):
    u = x + 1.0
    y = u[1:]
    z = y
    if t > 2:
        z = u[:2]
    return y, z


def a_branch_chooses_of_two_views(x, t):
    u = x + 1.0
    y = u[1:]
    w = u[:2]
    z = y
    if t > 2:
        z = w
    return y, w, z


def a_branch_takes_a_view_of_a_view(x, t):
    u = x + 1.0
    y = u[1:]
    z = y
    if t > 2:
        z = y[:]
    return y, z


def a_branch_takes_a_view_of_a_view_of_an_argument(x, t):
    y = x[1:]
    z = y
    if t > 2:
        z = y[:]
    return y, z


def a_branch_takes_the_argument_itself(x, t):
    y = x[:]
    if t > 2:
        y = x
    return y


def a_condition_chooses_a_view_or_the_argument(x, t):
    y = x.ravel()
    z = y if t > 2 else x
    return z, y, x


def a_loop_takes_another_view(x, t):
    u = x + 1.0
    y = u[1:]
    z = y
    for i in range(int(t)):
        z = u[:2]
    return y, z


def a_loop_takes_a_view_of_the_whole(x, t):
    u = x + 1.0
    y = u[:]
    z = u
    for i in range(int(t)):
        z = y
    return y, z, u


def views_are_compared(x, t):
    u = x + 1.0
    y = u[:]
    z = u
    if t > 2:
        z = y
    return y, z, u, z is y, z is u


def two_views_of_one_part_are_compared(x, t):
    u = x + 1.0
    y = u[1:]
    z = u[1:]
    if t > 2:
        z = y
    return z is y, z, y


def two_views_of_one_part_of_an_argument(x, t):
    y = x[1:]
    z = x[1:]
    if t > 2:
        z = y
    return z, y


def a_step_gives_a_view_two_names(x, t):
    u = x + 1.0
    z = w = u[1:]
    for i in range(int(t)):
        y = u[:2]
        z = y
        w = y
    return z, w


def a_step_makes_two_views(x, t):
    u = x + 1.0
    z = w = u[1:]
    for i in range(int(t)):
        w = u[:2]
        z = u[:2]
    return z, w


def a_loop_transposes(x, t):
    z = x
    for i in range(int(t)):
        z = z.T
    return z, x


def a_loop_reshapes(x, t):
    z = x + 1.0
    y = z
    for i in range(int(t)):
        z = z.reshape(-1)
    return z, y


def a_branch_gives_a_view_two_names(x, t):
    if t > 2:
        y = x[1:]
        z = w = y
    else:
        z = x[:2]
        w = x[1:]
    return z, w


def a_branch_gives_a_view_of_its_own_array_two_names(x, t):
    u = x * 2.0
    if t > 2:
        u = u * 2.0
        y = u[1:]
        z = w = y
    else:
        z = u[:2]
        w = u[1:]
    return z, w


def a_branch_takes_what_is_a_view_of_a_chosen_one(x, t):
    u = x * 2.0
    y = u[1:]
    if t > 2:
        z = y
    else:
        z = u[1:]
    w = z[:]
    if t > 4:
        w = z
    return z, w, y


def a_branch_makes_a_list_of_a_view(x, t):
    u = x * 2.0
    y = u[1:]
    h = [y]
    if t > 2:
        h = [u[1:]]
    return h, y


def what_may_be_the_whole_is_written(x, t):
    u = x * 2.0
    if t > 2:
        y = u[:]
    else:
        y = u
    y[0] = 5.0
    y += 1.0
    return y, u


def a_while_loop_takes_views_of_the_whole(x, t):
    u = x * 2.0
    z = y = u
    while t > 0:
        if t > 2:
            y = u[:]
        else:
            z = y
        t -= 1.0
    return y, u, z


def views_of_an_argument_are_compared(x, t):
    y = x[1:]
    z = x[1:]
    return y is z, y is x, x[:] is x


def functions_that_give_the_array_itself(x, t):
    x = x * 2.0
    y = x.real
    z = np.real(x)
    w = np.asarray(x)
    v = np.ascontiguousarray(x)
    q = np.atleast_1d(x)
    r = x.astype(float, copy=False)
    s = x.squeeze()
    e = x.view()
    m = np.swapaxes(x, 0, 0)
    return x, y, z, w, v, q, r, s, e, m


def a_view_of_the_whole_owns_nothing(x, t):
    x = x * 2.0
    y = x.T
    return y.flags.owndata, x.flags.owndata


def a_part_of_a_traced_length_is_flattened(x, t):
    y = x[: int(t)].ravel()
    return y.reshape(-1, 1), y.T


def a_branch_makes_a_list_of_an_array_and_a_view(x, t):
    y = x * 2.0
    h = [y, y]
    if t > 2:
        h = [y, y[:]]
    return h


def the_best_row_is_written(x, t):
    best = x
    b = 0.0
    m = np.outer(x, x)
    for row in m:
        if row.sum() > b:
            best = row
            b = row.sum()
    best[0] = 7.0
    return best, b, m


def a_loop_binds_a_tuple_of_outside(x, t):
    r = (x, 1.0)
    q = (x, x)
    for i in range(int(t)):
        q = r
    return q is r


def a_loop_takes_a_tuple_out_of_a_list(x, t):
    r = (x, 1.0)
    q = (x, 2.0)
    h = [r]
    for i in range(int(t)):
        q = h[0]
    return q, h


def a_loop_hands_tuples_on(x, t):
    p = q = (x, 2.0)
    while t > 0:
        p = q
        q = (x + t, 2.0)
        t -= 1.0
    return p, q


def a_loop_puts_a_tuple_of_outside_into_a_list(x, t):
    r = (x, 1.0)
    h = [r]
    for _ in range(int(t)):
        h = [r, r]
    return h, r, h[0] is r


def a_branch_gives_an_array_of_a_traced_length_two_names(x, t):
    u = x + 1.0
    p = r = u
    if t > 0.5:
        while t > 0:
            p = u[1:]
            u = u + 1.0
            t -= 1.0
        r = p[:2]
    return r, p


def _arrays() -> list[Any]:
    return [(np.arange(3.0) + n, t) for n, t in enumerate(SOME)]


def _of(f: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: (f, _arrays(), None)


def a_branch_reverses_what_it_makes(x, t):
    v = x
    if t > 2:
        v = (x + 1.0)[::-1]
    return v


def one_of_two_branches_reverses_what_it_makes(x, t):
    return (x * t)[::-1] if t > 2 else x * t


def a_branch_puts_a_reversed_array_into_a_dict(x, t):
    d = {"v": x}
    if t > 2:
        d["v"] = (x * t)[::2]
    return d


def a_branch_gives_what_can_not_be_written(x, t):
    return np.broadcast_to(t * 2.0, 3) if t > 2 else x[:3] * t


def what_can_not_be_written_perhaps_is_written(x, t):
    v = np.broadcast_to(t * 2.0, 3) if t > 2 else x[:3] * t
    v[0] = 1.0
    return v


def a_branch_takes_a_diagonal(x, t):
    return np.diag(np.outer(x, x)) if t > 2 else x * t


def a_while_loop_reverses_what_it_makes(x, t):
    while t > 0:
        x = (x * t)[::-1]
        t -= 1.0
    return x


def a_long_loop_reverses_what_it_makes(x, t):
    for _ in range(30):
        x = (x * t)[::-1]
    return x


def a_branch_of_a_loop_reverses_what_it_makes(x, t):
    v = x
    for i in range(30):
        if i == t:
            v = (v * t)[::-1]
    return v


def a_branch_reverses_an_array_that_nothing_else_has(x, t):
    v = x * t
    w = v[::-1] if t > 2 else v[1:]
    v = None
    return w, v


def whether_a_chosen_array_can_be_written(x, t):
    w = np.broadcast_to(t, (2, 3)) if t > 2 else np.outer([1.0, 2.0], x)
    return w.flags.writeable


def whether_a_chosen_array_owns_its_memory(x, t):
    u = x * 2.0
    w = u[:2] if t > 2 else u
    return w.flags.owndata


def which_array_a_chosen_one_is_part_of(x, t):
    u = x * 2.0
    w = u[:2] if t > 2 else u
    return w.base is u, w.base is None, w[0]


def a_loop_takes_what_can_not_be_written_of_its_own(x, t):
    w = x * 1.0
    for _ in range(int(t)):
        w = np.broadcast_to(w[:1], x.shape)
    return w


def a_while_loop_reverses_its_own(x, t):
    w = x * 1.0
    while t > 0:
        w = w[::-1]
        t -= 2.0
    return w


def a_while_loop_takes_a_diagonal(x, t):
    w, d = np.outer(x, x + 1.0), x
    while t > 0:
        d = np.diagonal(w)
        t -= 3.0
        w = w + 1.0
    return d


def a_while_loop_takes_an_imaginary_part(x, t):
    w, d = x * 1j, x
    while t > 0:
        d = w.imag
        t -= 3.0
        w = w * 2.0
    return d


def attributes_of_a_list_of_traced_length(x, t):
    a = []
    for v in x:
        if v > t:
            a.append(v)
    told = []
    for change in (setattr, delattr):
        try:
            change(a, "foo", *([1] if change is setattr else []))
        except AttributeError as e:
            told.append(str(e))
    try:
        a.append = 1  # type: ignore[assignment]
    except AttributeError as e:
        told.append(str(e))
    return told


for _f in (
    a_branch_flattens,
    a_branch_transposes_twice,
    a_loop_after_flattening,
    a_branch_takes_another_view,
    a_branch_chooses_of_two_views,
    a_branch_takes_a_view_of_a_view,
    a_branch_takes_a_view_of_a_view_of_an_argument,
    a_branch_takes_the_argument_itself,
    a_condition_chooses_a_view_or_the_argument,
    a_loop_takes_another_view,
    a_loop_takes_a_view_of_the_whole,
    views_are_compared,
    two_views_of_one_part_are_compared,
    two_views_of_one_part_of_an_argument,
    a_step_gives_a_view_two_names,
    a_step_makes_two_views,
    a_loop_transposes,
    a_loop_reshapes,
    a_branch_gives_a_view_two_names,
    a_branch_gives_a_view_of_its_own_array_two_names,
    a_branch_takes_what_is_a_view_of_a_chosen_one,
    a_branch_makes_a_list_of_a_view,
    what_may_be_the_whole_is_written,
    a_while_loop_takes_views_of_the_whole,
    views_of_an_argument_are_compared,
    functions_that_give_the_array_itself,
    a_view_of_the_whole_owns_nothing,
    a_part_of_a_traced_length_is_flattened,
    a_branch_makes_a_list_of_an_array_and_a_view,
    the_best_row_is_written,
    a_loop_binds_a_tuple_of_outside,
    a_loop_takes_a_tuple_out_of_a_list,
    a_loop_hands_tuples_on,
    a_loop_puts_a_tuple_of_outside_into_a_list,
    a_branch_gives_an_array_of_a_traced_length_two_names,
    a_branch_reverses_what_it_makes,
    one_of_two_branches_reverses_what_it_makes,
    a_branch_puts_a_reversed_array_into_a_dict,
    a_branch_gives_what_can_not_be_written,
    what_can_not_be_written_perhaps_is_written,
    a_branch_takes_a_diagonal,
    a_while_loop_reverses_what_it_makes,
    a_long_loop_reverses_what_it_makes,
    a_branch_of_a_loop_reverses_what_it_makes,
    a_branch_reverses_an_array_that_nothing_else_has,
    whether_a_chosen_array_can_be_written,
    whether_a_chosen_array_owns_its_memory,
    which_array_a_chosen_one_is_part_of,
    a_loop_takes_what_can_not_be_written_of_its_own,
    a_while_loop_reverses_its_own,
    a_while_loop_takes_a_diagonal,
    a_while_loop_takes_an_imaginary_part,
    attributes_of_a_list_of_traced_length,
):
    PROGRAMS[f"views: {_f.__name__}"] = _of(_f)
