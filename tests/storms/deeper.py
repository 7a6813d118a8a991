"""Inner functions and generators with bodies, methods that call each other, arrays that share memory, reductions by
axis and other dtypes, and what else programs do in loops with items, slices and names."""

from __future__ import annotations

from tests.storms.env import Part

HEAD = """\
class Walker:
    unit = 0.5

    def __init__(self, p, n):
        self.p, self.n, self.path, self.best = p, n, [p], None

    @property
    def energy(self):
        return self.p * self.p * self.unit if self.p > 0 else -self.p

    @energy.setter
    def energy(self, value):
        self.p = math.sqrt(abs(value) / self.unit)

    def step(self, q):
        old = self.energy
        self.p = self.p * 0.5 + q
        if self.energy < old:
            self.note(self.p)
            return True
        return False

    def note(self, q):
        if self.best is None or q > self.best:
            self.best = q
        self.path.append(q)

    def run(self, k):
        for i in range(k):
            if not self.step(0.25 * i):
                break
        else:
            return None
        return i

    def descend(self, k):
        return self.p if k <= 0 else self.scale(self.descend(k - 1))

    def scale(self, q):
        self.n += 1
        return q * self.unit + self.n

    def until(self, limit, most=20):
        while abs(self.p) < limit:
            self.p = self.p * 1.5 + 0.25
            most -= 1
            if most == 0:
                raise ValueError(self.p)
        return self

    @classmethod
    def at(cls, q):
        return cls(q, 0)


def counted(fn):
    @functools.wraps(fn)
    def inner(*args):
        inner.calls += 1
        return fn(*args)

    inner.calls = 0
    return inner


def halves(q, n=6):
    try:
        while n > 0:
            if abs(q) < 0.05:
                return
            yield q
            q, n = q * 0.5, n - 1
    finally:
        HIST["h"].append(n)


def pairs_of(items):
    for i, a in enumerate(items):
        for b in items[i + 1:]:
            if a != b:
                yield a, b


def hanoi(n, a=0, b=2):
    if n <= 0:
        return 0.0
    return hanoi(n - 1, a, 3 - a - b) + 1.5 + hanoi(n - 1, 3 - a - b, b)


def ackerish(m, n):
    if m == 0:
        return n + 1
    return ackerish(m - 1, 1 if n == 0 else ackerish(m, n - 1))
"""

#: Inner functions whose bodies change names around them.
CLOSURES = Part(
    expressions={
        "float": [
            "<fn>(<float>)",
            "(lambda p, q=<float>: p if p > q else <float>)(<float>)",
            "sum(fn(<float>) for fn in (<fn>, <fn>))",
            "sum(halves(<float>))",
            "next(halves(<float>), 0.25)",
            "sum(p * q for p, q in pairs_of(<floats>))",
            "hanoi(<int> % 4)",
            "max((abs(p - q) for p, q in pairs_of(<floats>)), default=0.0)",
            "functools.reduce(max, halves(<float>), 0.1)",
            "[*map(<fn>, <floats>), 0.5][0]",
        ],
        "int": [
            "ackerish(1, abs(<int>) % 4)",
            "sum(1 for _ in halves(<float>))",
            "hanoi.__code__.co_argcount",
        ],
        "floats": [
            "list(halves(<float>))",
            "[*halves(<float>, 3), *<floats>]",
            "[<fn>(q) for q in <floats>]",
        ],
        "fn": ["counted(<fn>)", "<fn> if <bool> else <fn>"],
    },
    statements=[
        (1.5, "def <+fn>(z):\n    <body>\n    return z"),
        (1.0, "def <+fn>(z):\n    <body>\n    return <float> + z"),
        (0.8, "def <+fn>(z):\n    if z > <float>:\n        <body>\n        return z\n    return <float>"),
        (
            0.8,
            "def <+fn>(z):\n    nonlocal <@inner:t>\n    for _ in range(<small>):\n        if z > <float>:\n"
            "            return <$t>\n        <$t> += z\n        z = z * 0.5 + 0.25\n    return z",
        ),
        (0.6, "def <+fn>(z):\n    <@my_floats>.append(z)\n    return z + len(<@my_floats>)"),
        (0.6, "def <+fn>(z):\n    <@my_vec>[<index>] += z\n    return z"),
        (0.6, "def <+fn>(z):\n    <@my_thing>.v += z\n    return <@my_thing>.half"),
        (
            0.6,
            "<+local:fs> = []\nfor <+my_float:q> in <vec>:\n    <$fs>.append(lambda z, q=<$q>: z * q)\n"
            "<+my_float> = sum(f(<float>) for f in <$fs>)",
        ),
        (
            0.5,
            "<+local:fs> = []\nfor <+my_float:q> in <vec>:\n    <$fs>.append(lambda z: z * <$q>)\n"
            "<+my_float> = sum(f(<float>) for f in <$fs>)",
        ),
        (
            0.6,
            "def <+local:m>(c):\n    def add(z):\n        nonlocal c\n        c += z\n        return c\n"
            "    def get():\n        return c\n    return add, get\n<+fn:a>, <+local:g> = <$m>(<float>)\n"
            "for <+my_float:q> in <vec>:\n    if <$a>(<$q>) > <float>:\n        break\n<+my_float> = <$g>()",
        ),
        (
            0.6,
            "def <+local:g>(z, n):\n    for i in range(n):\n        if z > <float>:\n"
            "            return\n        yield z\n"
            "        z = z * 0.5 + <float>\nfor <+my_float> in <$g>(<float>, <small>):\n    <loop>",
        ),
        (
            0.5,
            "def <+local:g>(z):\n    <body>\n    yield z\n    <body>\n    yield z * 2\n"
            "<+my_floats> = [q + 1.0 for q in <$g>(<float>)]",
        ),
        (0.5, "for <+my_float>, <+my_float> in zip(halves(<float>), <vec>):\n    <loop>"),
        (0.4, "for <+int>, <+my_float> in enumerate(halves(<float>), 1):\n    <loop>"),
        (0.4, "for <+my_float>, <+my_float> in pairs_of(<vec>):\n    <loop>"),
        (0.4, "<+fn> = counted(<fn>)\nfor <+my_float:q> in <vec>:\n    <@my_float> += <@fn>(<$q>)"),
        (0.8, "<@my_float> = <@fn>(<float>)"),
        (0.5, "for <+int> in range(<small>):\n    <@my_float> = <@fn>(<@my_float>)\n    <loop>"),
        (
            0.4,
            "class <+local:C>:\n    k = <float>\n    def go(self, z):\n        return z * self.k + <float>\n"
            "<+my_float> = <$C>().go(<float>)",
        ),
    ],
    resets=["HIST['h'] = []"],
    state=["HIST"],
)

#: Methods that call each other, properties, recursion.
METHODS = Part(
    expressions={
        "float": [
            "<walker>.p",
            "<walker>.energy",
            "<walker>.descend(<int> % 4)",
            "<walker>.scale(<float>)",
            "<walker>.until(<float>).p",
            "<walker>.best or <float>",
            "(<float> if <walker>.best is None else <walker>.best)",
            "sum(<walker>.path)",
            "Walker.at(<float>).energy",
            "getattr(<walker>, <str>, <float>)",
        ],
        "int": ["<walker>.n", "len(<walker>.path)", "<walker>.run(<int> % 5) or 0"],
        "bool": [
            "<walker>.step(<float>)",
            "<walker>.best is None",
            "<walker>.run(<small>) is None",
            "<walker> is <walker>",
        ],
        "floats": ["<walker>.path", "<walker>.path[-2:]"],
        "walker": ["Walker(<float>, <int>)", "Walker.at(<float>)", "<walker> if <bool> else <walker>"],
    },
    leaves={"walker": ["Walker(0.5, 1)"]},
    statements=[
        (0.5, "<+my_walker> = <walker>"),
        (0.6, "<@my_walker> = <walker>"),
        (1.5, "<@my_walker>.step(<float>)"),
        (1.0, "<@my_walker>.note(<float>)"),
        (0.8, "<@my_walker>.run(<small>)"),
        (0.8, "<@my_walker>.energy = <float>"),
        (0.5, "<@my_walker>.energy += <float>"),
        (0.5, "<@my_walker>.best = None"),
        (0.5, "<@my_walker>.p -= <float>"),
        (0.4, "<@my_walker>.n *= 2"),
        (0.4, "<@my_walker>.until(<float>)"),
        (0.3, "Walker.unit = <float>"),
        (0.3, "<@my_walker>.unit = <float>"),
        (0.6, "if <@my_walker:w>.step(<float>):\n    <block>\nelse:\n    <$w>.note(<float>)"),
        (
            0.6,
            "for <+my_float:q> in <vec>:\n    <@my_walker:w>.note(<$q>)\n    <loop>\n"
            "    if <$w>.best > <float>:\n        break",
        ),
        (0.5, "while <@my_walker:w>.step(<float>) and <$w>.n < 9:\n    <$w>.n += 1\n    <loop>"),
        (
            0.5,
            "for <+my_walker:w> in (<walker>, <walker>):\n    if <$w>.run(3) is None:\n"
            "        return <$w>.p\n    <loop>",
        ),
        (
            0.4,
            "try:\n    <@my_walker>.until(<float>, 3)\nexcept ValueError as e:\n    <@my_float> = e.args[0]",
        ),
    ],
    opening=["<+my_walker> = <walker>", "<+my_walker> = roamer"],
    names={"roamer": "walker"},
    resets=["Walker.unit, roamer = 0.5, Walker(0.75, 1)"],
    state=["roamer, Walker.unit"],
)

#: Arrays under several names, views of them, lists and dicts of them.
MEMORY = Part(
    expressions={
        "vec": [
            "<arrs>[<int> % 2]",
            "<arrs>[0]",
            "<shelf>['u']",
            "np.asarray(<vec>)",
            "<vec>.reshape(-1)",
            "<vec>.ravel()",
            "<vec>[:]",
            "<vec>.view()",
            "<mat>[<index>]",
            "<@my_vec>",
            "<@my_vec>[::-1]",
            "np.atleast_1d(<vec>)",
            "<arrs>[0] + <arrs>[1]",
        ],
        "arrs": [
            "[<vec>, <vec>]",
            "[<@my_vec>, <@my_vec>]",
            "list(<arrs>)",
            "<arrs>[::-1]",
            "[a * 2 for a in <arrs>]",
        ],
        "shelf": ["{'u': <vec>, 'v': <vec>}", "dict(<shelf>)"],
        "bool": [
            "<vec> is <vec>",
            "<arrs>[0] is <arrs>[1]",
            "<shelf>['u'] is <@my_vec>",
            "np.shares_memory(<@my_vec>, <@my_vec>)",
            "<vec>.base is None",
        ],
    },
    leaves={"arrs": ["[np.zeros(4), np.ones(4)]"], "shelf": ["{'u': np.zeros(4), 'v': W}"]},
    statements=[
        (2.0, "<@my_vec> = <@my_vec>"),
        (1.0, "<+my_vec> = <@my_vec>"),
        (0.8, "<+my_vec> = <@my_vec>[::-1]"),
        (0.8, "<@my_vec:a>, <@my_vec:b> = <$b>, <$a>"),
        (0.8, "<@my_vec> = <vec>"),
        (1.0, "<@my_vec>[<index>] = <float>"),
        (0.8, "<@my_vec>[<index>] += <float>"),
        (0.6, "<@my_vec> += <float>"),
        (0.6, "<@my_vec>[:] = <vec>"),
        (0.5, "<@my_vec>[...] = <@my_vec>[::-1]"),
        (0.5, "<@my_arrs>[<int> % 2] = <vec>"),
        (0.5, "<@my_arrs>[0][<index>] = <float>"),
        (0.5, "<@my_arrs>[<int> % 2] += <float>"),
        (0.5, "<@my_arrs> = <arrs>"),
        (0.3, "<@my_arrs>.append(<vec>)"),
        (0.5, "<@my_shelf>['u'] = <vec>"),
        (0.5, "<@my_shelf>['v'][<index>] = <float>"),
        (0.4, "<@my_shelf>['u'] *= <float>"),
        (0.5, "for <+my_vec:a> in <arrs>:\n    <$a>[<index>] += <float>\n    <loop>"),
        (0.4, "for <+my_vec> in <mat>:\n    <loop>"),
        (0.6, "if <bool>:\n    <@my_vec> = <@my_vec>\nelse:\n    <@my_vec> = <@my_vec>.copy()"),
        (0.5, "<+my_vec:a> = <@my_vec> if <bool> else <@my_vec>\n<$a>[<index>] = <float>"),
        (0.4, "np.add(<@my_vec>, <float>, out=<@my_vec>)"),
        (0.4, "<+my_vec> = np.multiply(<vec>, <float>, out=<@my_vec>)"),
        (0.4, "<+local:a>, <+local:b> = <@my_vec:x>[:2], <$x>[2:]\n<$a>[:] = <$b>\n<$b>[0] = <float>"),
        (0.4, "<+local:a> = <@my_vec:x>.reshape(2, 2)\n<$a>[<int> % 2] = <float>\n<$a>.T[0] += 1.0"),
        (0.3, "<@my_vec:x>[1:] += <$x>[:-1]"),
        (0.3, "<@my_vec> = <vec>[1:]"),
        (0.4, "<@my_thing>.w = <@my_vec>"),
        (0.3, "<@my_mat>[<index>] = <@my_vec>"),
        (0.3, "<+my_mat:m> = <@my_mat>\n<$m>[<index>] *= <float>"),
        (0.4, "if <bool>:\n    return <@my_vec>, <@my_vec>"),
    ],
    opening=[
        "<+my_vec:u> = np.array([<float>, 2.0, <float>, -1.0])",
        "<+my_vec> = <@my_vec>",
        "<+my_arrs> = [<@my_vec>, <@my_vec>]",
    ]
    + ["<+my_shelf> = {'u': <@my_vec>, 'v': <@my_vec>}"],
)
