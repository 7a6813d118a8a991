"""What a part of the programs has besides: by feature, templates of expressions and statements that are drawn together
with those of `expressions` and `statements`, and the classes and functions that they use."""

from __future__ import annotations

from tests.storms.env import Part

HEAD = """\
class Pair(NamedTuple):
    a: float
    b: float = 0.5

    def swapped(self):
        return Pair(self.b, self.a)


@dataclasses.dataclass
class Cell:
    x: float
    k: int = 1
    seen: list = dataclasses.field(default_factory=list)

    def total(self):
        return self.x * self.k

    def grow(self, q):
        self.seen.append(self.x)
        self.x += q
        return self


class Color(enum.Enum):
    RED = 1
    BLUE = 2.5


class Row:
    __slots__ = ("items", "hits")
    made = 0

    def __init__(self, *items):
        self.items, self.hits = list(items), 0
        Row.made += 1

    @classmethod
    def of(cls, n, q=0.5):
        return cls(*[q * i for i in range(n)])

    def __len__(self):
        return len(self.items)

    def __getitem__(self, k):
        self.hits += 1
        return self.items[k] if not isinstance(k, slice) else Row(*self.items[k])

    def __setitem__(self, k, v):
        self.items[k] = v

    def __iter__(self):
        return iter(self.items)

    def __contains__(self, v):
        return any(v == w for w in self.items)

    def __add__(self, other):
        return Row(*(a + b for a, b in zip(self, other)))

    def __radd__(self, other):
        return self if other == 0 else NotImplemented

    def __mul__(self, q):
        return Row(*(a * q for a in self)) if isinstance(q, (int, float)) else NotImplemented

    def __iadd__(self, q):
        self.items.append(q)
        return self

    def __neg__(self):
        return self * -1

    def __call__(self, q, *more, scale=1.0):
        return (q + sum(more) + len(self)) * scale

    def __bool__(self):
        return bool(self.items)


def spread(*xs, k=1, **kw):
    return sum(xs) * k + len(kw)


def defaulted(q, acc=[], *, more=0.5):
    acc.append(q)
    return len(acc) + more


def walk(q, n):
    got = 0.0
    while n > 0:
        sent = yield q + got
        got = 0.25 if sent is None else sent
        n -= 1
    return got


def delegated(q, n):
    last = yield from walk(q, n)
    yield last
"""

#: What each run of a program begins with, besides.
RESETS = """\
Row.made = 0
defaulted.__defaults__[0].clear()"""


#: Objects with special methods, named tuples, dataclasses and members of enumerations.
CLASSES = Part(
    {
        "float": [
            "<row>[<int> % 2]",
            "sum(<row>)",
            "<row>(<float>, <float>, scale=<float>)",
            "(<row> * <float>)[0]",
            "(<row> + <row>)[-1]",
            "<named>.a",
            "<named>.swapped().a",
            "<cell>.x",
            "<cell>.total()",
            "<color>.value * <float>",
            "max(<row>, default=0.5)",
        ],
        "int": ["len(<row>)", "<row>.hits", "<cell>.k", "len(<cell>.seen)", "Row.made"],
        "bool": [
            "<float> in <row>",
            "bool(<row>)",
            "<color> is Color.RED",
            "<cell> == <cell>",
            "<named> == <named>",
            "<named> < (<float>, 0.5)",
            "isinstance(<named>, tuple)",
            "type(<cell>) is Cell",
        ],
        "floats": ["list(<row>)", "[*<named>]", "<cell>.seen", "[q for q in <row> if q > <float>]"],
        "row": ["Row(<float>, <float>)", "Row.of(<small>, <float>)", "-<row>", "<row>[::2]", "<row> * 2"],
        "named": [
            "Pair(<float>)",
            "Pair(<float>, <float>)",
            "<named>._replace(b=<float>)",
            "<named>.swapped()",
        ],
        "cell": ["Cell(<float>)", "Cell(<float>, <int>)", "dataclasses.replace(<cell>, k=<int>)"],
    },
    {
        "row": ["Row(0.5, 1.5)"],
        "named": ["Pair(1.5)"],
        "cell": ["Cell(0.5)"],
        "color": ["Color.RED", "Color.BLUE", "Color(2.5)"],
    },
    [
        (1.0, "<+my_row> = <row>"),
        (0.8, "<+my_cell> = <cell>"),
        (0.5, "<+named> = <named>"),
        (0.5, "<+color> = Color.RED if <bool> else Color.BLUE"),
        (0.6, "<@my_row>[<int> % 2] = <float>"),
        (0.6, "<@my_row>[0] -= <float>"),
        (0.4, "<@my_row> += <float>"),
        (0.6, "<@my_cell>.x -= <float>"),
        (0.4, "<@my_cell>.k **= 2"),
        (0.6, "<@my_cell>.grow(<float>).grow(0.5)"),
        (0.4, "<+my_float:a>, <+my_float> = <named>"),
        (0.4, "for <+my_float> in <row>:\n    <loop>"),
        (
            0.3,
            "match <named>:\n    case Pair(a, 0.5):\n        <block>\n"
            "    case Pair(a=1.5) | (0.5, _):\n        <block>",
        ),
        (0.3, "match <cell>:\n    case Cell(k=1):\n        <block>\n    case Cell(x=0.5):\n        <block>"),
        (0.3, "if <color> is Color.RED:\n    <block>\nelse:\n    <block>"),
    ],
)

#: Closures, generators, arguments in all ways.
FUNCTIONS = Part(
    {
        "float": [
            "spread(<float>, <float>)",
            "spread(*<floats>, k=<int>)",
            "spread(*<vec>, 1.5, **<table>)",
            "spread(*<pair>, k=2, z=<float>)",
            "defaulted(<float>)",
            "defaulted(<float>, [], more=<float>)",
            "functools.reduce(lambda p, q: p * 0.5 + q, <floats>, <float>)",
            "functools.partial(spread, <float>, k=2)(<float>)",
            "sum(delegated(<float>, <int> % 4))",
            "next(walk(<float>, 2), 0.5)",
            "max(<floats>, key=lambda q: -q, default=0.5)",
            "(lambda *q, k=2: sum(q) * k)(<float>, <float>)",
            "[g(<float>) for g in (abs, lambda q: q * <float>)][1]",
            "list(itertools.accumulate(<vec>))[-1]",
        ],
        "floats": [
            "list(walk(<float>, <int> % 4))",
            "[*delegated(<float>, <int> % 3)]",
            "list(itertools.accumulate(<floats>))",
            "list(itertools.chain(<floats>, <pair>))",
            "[g() for g in [(lambda q=q: q * 2) for q in <floats>]]",
            "[*map(lambda p, q: p - q, <floats>, <vec>)]",
        ],
        "ints": ["list(itertools.islice(itertools.count(<int>, 2), 3))"],
    },
    {},
    [
        (0.5, "def <+fn:g>(z, s=<float>, *r, k=2):\n    return z * s + k + len(r)"),
        (0.5, "def <+fn:g>(z):\n    if z > <float>:\n        return z * 0.5\n    return <float>"),
        (
            0.4,
            "def <+fn:g>(z):\n    for q in <floats>:\n        if q > z:\n            return q\n    return z",
        ),
        (0.3, "def <+fn:g>(z, n=3):\n    return z if n == 0 else <$g>(z * 0.5, n - 1)"),
        (
            0.4,
            "def <+local:m>():\n    c = <float>\n    def up(z):\n        nonlocal c\n"
            "        c += z\n        return c\n"
            "    return up\n<+fn:u> = <$m>()\n<$u>(<float>)",
        ),
        (
            0.4,
            "<+local:g> = walk(<float>, 4)\n<+my_float> = next(<$g>)\n<+my_float> = <$g>.send(<float>)\n"
            "for <+my_float> in <$g>:\n    <loop>",
        ),
        (0.3, "<+fn:g> = functools.partial(spread, <float>, k=<int>)"),
    ],
)

#: Scalars of NumPy's, of all sizes.
SCALARS = Part(
    {
        "npf": [
            "np.float64(<float>)",
            "np.float32(<float>)",
            "<npf> * <float>",
            "<npf> + <npf>",
            "<npf> / 2",
            "<npf> - <int> % 9",
            "-<npf>",
            "abs(<npf>)",
            "<vec>[<index>]",
            "<single>[<index>]",
            "<npf> if <bool> else <npf>",
            "round(<npf>, 1)",
        ],
        "npi": [
            "np.int64(<int> % 1000)",
            "np.int32(<int> % 1000)",
            "np.uint8(<int> % 100)",
            "<npi> + <npi>",
            "<npi> * 3",
            "<npi> // 2",
            "<npi> % 5",
            "<ivec>[<index>]",
            "<npi> >> 1",
            "<npi> ^ <npi>",
            "abs(<npi>)",
        ],
        "npb": [
            "np.bool_(<bool>)",
            "<mask>[<index>]",
            "<npf> > <float>",
            "~<npb>",
            "<npb> & <npb>",
            "<npi> == 3",
        ],
        "float": [
            "float(<npf>)",
            "<npf>.item()",
            "<npf> * <float>",
            "<npi> / 4",
            "<npf> ** 2",
            "<npb> * 1.5",
        ],
        "int": [
            "int(<npi>)",
            "int(<npf>)",
            "<npi>.item()",
            "<ints>[<npi> % 2]",
            "<npb> + 1",
            "hash(<npi>) % 7",
        ],
        "bool": [
            "<npf> == <float>",
            "bool(<npb>)",
            "<npb> is True",
            "isinstance(<npf>, float)",
            "isinstance(<npi>, int)",
            "type(<npf>) is np.float64",
            "(<npi>).dtype == np.int64",
            "<npf> in <floats>",
            "not <npb>",
            "<npb> and <bool>",
            "<npb> or <npb>",
        ],
        "str": ["type(<npf>).__name__", "(<npi>).dtype.name"],
    },
    {
        "npf": ["np.float64(0.5)", "np.float32(1.5)"],
        "npi": ["np.int64(3)", "np.uint8(7)"],
        "npb": ["np.True_"],
    },
    [
        (1.5, "<+my_npf> = <npf>"),
        (1.0, "<+my_npi> = <npi>"),
        (0.5, "<+my_npb> = <npb>"),
        (0.8, "<@my_npf> += <float>"),
        (0.6, "<@my_npf> = <npf>"),
        (0.6, "<@my_npi> += 1"),
        (0.4, "<@my_npi> *= <npi>"),
        (0.4, "if <npb>:\n    <block>\nelse:\n    <block>"),
        (0.3, "for <+npi> in <ivec>:\n    <loop>"),
    ],
)

#: Slices with steps, views of views, operators in place.
SLICES = Part(
    {
        "vec": [
            "<vec>[::-1][1:].repeat(2)[:4]",
            "np.concatenate([<vec>[::2], <vec>[1::2]])",
            "<vec>[-1:-5:-1]",
            "np.tile(<vec>[::2], 2)",
            "<mat>[::2, ::-1].ravel()[:4]",
            "<mat>[<index>, ::-1]",
            "<mat>.T[<index>]",
            "np.flip(<vec>)",
            "<mat>.diagonal() * <float>",
            "np.take(<vec>, <ivec> % 4)",
            "<vec>[np.argsort(<vec>)]",
        ],
        "float": [
            "<vec>[<int> % 4:].sum()",
            "<vec>[:<int> % 5].sum()",
            "<vec>[::-2][0]",
            "<mat>[1:3, ::2].sum()",
        ],
        "int": ["len(<floats>[::2])", "<vec>[::<small>].size", "<vec>[<int>:].size"],
        "floats": [
            "<floats>[::-1]",
            "<floats>[<int> % 3:]",
            "<floats>[-2:]",
            "<floats>[::2]",
            "<floats>[:<int>]",
        ],
        "mat": [
            "<mat>[::-1, ::-1]",
            "<mat>.reshape(2, 8).T.reshape(4, 4)",
            "np.rot90(<mat>)",
            "<mat>[[3, 1, 0, 2]]",
        ],
    },
    {},
    [
        (0.8, "<@my_vec>[::2] += <float>"),
        (0.6, "<@my_vec>[::-1][:2] = <vec>[2:]"),
        (0.6, "<@my_vec>[1::2] *= <vec>[::2]"),
        (0.5, "<@my_vec>[<int> % 4:] -= <float>"),
        (0.4, "<@my_vec> //= 0.5"),
        (0.4, "<@my_vec> **= 2"),
        (0.4, "<@my_vec> -= <vec>[::-1]"),
        (0.5, "<+view:v> = <@my_vec>[::2]\n<$v> *= <float>\n<+view:w> = <$v>[::-1]\n<$w>[0] += <float>"),
        (0.5, "<+view:v> = <@my_mat>.T\n<$v>[<index>] += <vec>"),
        (0.5, "<+view:v> = <@my_mat>[1:3, ::2]\n<$v>[...] = <float>"),
        (0.4, "<@my_mat>[::2] *= <float>"),
        (0.4, "<@my_mat>[<mat> > <float>] = <float>"),
        (0.4, "<@my_mat>[[0, 2], [1, 3]] += <float>"),
        (0.4, "<@my_mat>.flat[::5] = <float>"),
        (0.3, "<@my_ivec>[::2] <<= 1"),
        (0.3, "<@my_ivec> |= 4"),
        (0.3, "<@my_mask>[::2] ^= True"),
        (0.3, "<@my_vec>[<index>], <@my_vec>[<index>] = <float>, <float>"),
        (0.4, "<@my_floats>[::2] = [<float>] * len(<floats>[::2])"),
        (0.4, "<@my_floats>[1:2] = [<float>, <float>]"),
    ],
)

#: Dicts, sets, queues and counters.
CONTAINERS = Part(
    {
        "float": [
            "<queue>[0]",
            "<queue>[-1]",
            "sum(<queue>)",
            "<table>.get('z', <float>)",
            "min(<table>.items(), default=('a', 0.5))[1]",
            "<table>[max(<table>)]",
            "sorted(<table>.items(), key=lambda t: -t[1])[0][1]",
        ],
        "int": [
            "len(<set> & <set>)",
            "len(<set> - {1})",
            "min(<set>, default=0)",
            "len(<queue>)",
            "len(collections.Counter(<ints>))",
            "collections.Counter(<ints>)[<int>]",
            "sum(<table>[k] > 0.5 for k in <table>)",
            "[*<table>].index('a')",
        ],
        "bool": [
            "<set> <= <set>",
            "1 in <set>",
            "'a' in <table> and <table>['a'] > <float>",
            "<set> == {1, 2}",
        ],
        "ints": ["sorted(<set>)", "[len(k) for k in <table>]", "[*{q: None for q in <ints>}]"],
        "set": [
            "<set> ^ {1}",
            "<set> & <set>",
            "<set> - {2}",
            "set(map(int, <floats>))",
            "frozenset(<ints>) | <set>",
        ],
        "table": [
            "{k: v for k, v in <table>.items() if v > <float>}",
            "{k: v + 1 for k, v in sorted(<table>.items())}",
            "dict.fromkeys('ab', <float>)",
            "dict(sorted(<table>.items(), key=lambda t: t[1]))",
        ],
        "floats": [
            "[<table>[k] for k in sorted(<table>)]",
            "list(<queue>)",
            "[v for _, v in <table>.items()]",
        ],
    },
    {"queue": ["collections.deque([0.5, 1.5], maxlen=3)"]},
    [
        (0.8, "<+my_queue> = collections.deque([<float>, <float>], maxlen=3)"),
        (0.8, "<@my_queue>.append(<float>)"),
        (0.4, "<@my_queue>.appendleft(<float>)"),
        (0.3, "<+my_float> = <@my_queue>.popleft()"),
        (0.3, "<@my_queue>.rotate(<int>)"),
        (
            0.5,
            "<+my_table:d> = collections.defaultdict(float)\nfor <+int:k> in <ivec>:\n"
            "    <$d>[f'{<$k> % 3}'] += <float>",
        ),
        (0.4, "<@my_table> |= {'b': <float>}"),
        (0.4, "for <+key:k> in sorted(<@my_table:d>):\n    <$d>[<$k>] *= 2"),
        (0.3, "<@my_table>.update({'a': <float>}, c=<float>)"),
        (0.3, "<+key>, <+my_float> = <@my_table>.popitem()"),
        (0.4, "<@my_set> |= {<int>, 5}"),
        (0.3, "<@my_set> -= <set>"),
        (0.3, "for <+int> in sorted(<set>):\n    <loop>"),
        (0.4, "<+my_table> = {}\nfor <+my_float:q> in <vec>:\n    <@my_table:d>[str(<$q> > <float>)] = <$q>"),
        (0.3, "<@my_floats>.remove(<float>)"),
        (0.3, "<@my_floats>.sort(key=abs, reverse=True)"),
        (0.3, "<@my_ints>[<index>] += <int>"),
    ],
)

#: Ways out of loops and blocks, `match`, assignments in expressions, long comparisons.
FLOW = Part(
    {
        "bool": [
            "<float> < <float> <= <float>",
            "0 <= <int> < <int> != 3",
            "(<int> > 1) is (<float> > 0)",
            "<float> < <int> > <float>",
            "not (<bool> and <float> > 0.5)",
            "<bool> ^ <bool>",
            "<bool> != <bool>",
        ],
        "float": [
            "(<float> if <float> > 0 else <float>) if <bool> else <float>",
            "<bool> and <float> or <float>",
            "[<float>, <float>][<bool>]",
            "{True: <float>, False: <float>}[<bool>]",
        ],
        "int": [
            "<int> if <int> > 2 else len(<floats>)",
            "(<int>, <int>)[<bool>]",
            "sum([<bool>, <bool>, <bool>])",
        ],
    },
    {},
    [
        (1.0, "if <bool>:\n    return <float>"),
        (0.8, "for <+my_float:q> in <vec>:\n    <loop>\n    if <$q> > <float>:\n        return <$q>"),
        (
            0.8,
            "for <+int:i> in range(<small>):\n    if <bool>:\n        break\n    <loop>\nelse:\n    <block>",
        ),
        (
            0.6,
            "for <+my_float> in <floats>:\n    if <bool>:\n        continue\n    <loop>\nelse:\n"
            "    return <float>",
        ),
        (
            0.6,
            "<+int:k> = <int> % 9\nwhile <$k> > 0:\n    <$k> -= 1\n    if <bool>:\n        break\n"
            "    <loop>\nelse:\n    <block>",
        ),
        (
            0.5,
            "for <+int> in range(3):\n    try:\n        if <bool>:\n            continue\n"
            "        <loop>\n    finally:\n        <block>",
        ),
        (
            0.5,
            "for <+int> in range(<small>):\n    try:\n        <loop>\n"
            "    except ZeroDivisionError:\n        break",
        ),
        (0.4, "try:\n    if <bool>:\n        return <float>\n    <block>\nfinally:\n    <block>"),
        (
            0.5,
            "while (<+my_float:q> := <@my_float> * 0.5) > 0.3:\n    <@my_float> = <$q> * 0.5\n"
            "    if <bool>:\n        break\n    <loop>",
        ),
        (0.4, "<+my_floats> = [<+local:y> for q in <floats> if (<$y> := q * 2) > <float>]"),
        (
            0.4,
            "match <floats>:\n    case []:\n        <block>\n    case [q]:\n        <block>\n"
            "    case [q, *_]:\n        <block>",
        ),
        (
            0.4,
            "match <int> % 4, <bool>:\n    case 0, True:\n        <block>\n    case (1 | 2), _:\n"
            "        <block>\n    case _:\n        <block>",
        ),
        (
            0.3,
            "match <table>:\n    case {'a': q, 'b': _}:\n        <block>\n    case {'c': q}:\n"
            "        <block>",
        ),
        (
            0.3,
            "match <int>:\n    case 0 | 1:\n        <block>\n    case q if q > 2:\n"
            "        <block>\n    case _:\n        return <float>",
        ),
        (0.4, "for <+int:i>, (<+my_float:a>, <+my_float>) in enumerate(zip(<floats>, <vec>)):\n    <loop>"),
        (0.3, "for <+int:i> in range(<int> % 6, -1, -2):\n    <loop>"),
        (
            0.3,
            "for <+int:i> in range(4):\n    for <+int:j> in range(<$i>, 4):\n        <loop>\n"
            "        if <bool>:\n            break",
        ),
        (0.3, "del <@my_local>"),
        (0.3, "<+my_local> = <float>"),
        (0.3, "with Managed(<thing>) as <+thing:t>:\n    <block>\n    if <bool>:\n        return <$t>.v"),
    ],
)

#: Integers that outgrow 64 bits, or nearly.
BIG = Part(
    {
        "int": [
            "<int> ** 3 % 10**30",
            "(<int> * <int>) % 10**25",
            "(<int> * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF",
            "(<int> * 1103515245 + 12345) % 2**31",
            "<int> << (<int> % 70)",
            "2 ** (<int> % 66)",
            "-(<int> << 62)",
            "(<int> ^ (<int> << 13)) & (2**32 - 1)",
            "<int> * 10**18",
            "(<int> + 2**62) // 3",
            "pow(<int> % 50, 12)",
            "int(<float> * 1e18)",
            "abs(<int> * 2**60) % 1000003",
            "math.factorial(<int> % 23)",
            "math.comb(40, <int> % 30)",
            "int.from_bytes(b'abc', 'big') * <int>",
        ],
        "float": [
            "<int> / 2**60",
            "float(<int> ** 5)",
            "<int> * 1e300 * 1e10",
            "math.ldexp(<float>, <int> % 40)",
        ],
        "bool": ["<int> > 2**63", "<int> == 2**63 - 1", "(<int> * 2**61) % 7 == 3", "<int> < <float> * 1e18"],
    },
    {"int": ["2**62", "-(2**63)", "2**63 - 1", "10**19"]},
    [
        (0.8, "<@my_int> *= <int>"),
        (0.5, "<@my_int> <<= 3"),
        (0.5, "<@my_int:a> = <$a> ** 2 % 10**22"),
        (0.4, "<@my_int> //= 7"),
        (0.4, "<+my_int:a> = 1\nfor <+int:i> in range(1, <small>):\n    <$a> *= <$i> + <int>"),
        (0.4, "<+int:a>, <+int:b> = 0, 1\nwhile <$b> < <int>:\n    <$a>, <$b> = <$b>, <$a> + <$b>"),
    ],
)

#: Text of traced values, and what is done with it.
TEXT = Part(
    {
        "str": [
            'f"{<float>:>{<small>}.3f}"',
            'f"{<int>:05d}|{<int>:+d}|{<int>:x}"',
            'f"{<float>!r:>12}"',
            'f"{<bool>} {<pair>}"',
            "'%5.2f/%-4d.' % (<float>, <int>)",
            "'-'.join(f'{q:g}' for q in <floats>)",
            "str(<table>)",
            "str(<thing>.log)",
            "repr(<str>) + str(<bool>)",
            "'{0}:{1:.1e}'.format(<int>, <float>)",
            "format(<float>, '.2e')",
            "str(<int>)[::-1]",
            "<str>.replace('a', 'b').center(9, '*')",
        ],
        "int": [
            "len(f'{<float>:.2f}')",
            "int(str(<int> % 1000))",
            "sum(int(c) for c in str(abs(<int>) % 10**6))",
        ],
        "float": ["float(f'{<float>:.2f}')"],
        "bool": ["str(<int>) == str(<int>)", "f'{<float>:.1f}' < '1'", "'1' in str(<int>)"],
    },
    {},
    [
        (0.8, "<+my_str> = <str>"),
        (0.5, "<@my_str> += <str>"),
        (0.4, "<@my_str> = '{:.1f} {}'.format(<float>, <str>)"),
    ],
)

#: Objects in lists, tuples and dicts, which are replaced, exchanged and compared: which object is which.
SHARING = Part(
    {
        "nest": [
            "[<thing>, <thing>]",
            "<nest>[::-1]",
            "list(<nest>)",
            "<duo>[1]",
            "<roll>['m']",
            "<nest> if <bool> else <nest>",
        ],
        "duo": ["(<thing>, <nest>)", "<duo> if <bool> else <duo>"],
        "roll": ["{'k': <thing>, 'm': <nest>}", "dict(<roll>)"],
        "thing": ["<nest>[<int> % 2]", "<nest>[0]", "<duo>[0]", "<roll>['k']"],
        "bool": [
            "<nest>[0] is <nest>[1]",
            "<nest>[<int> % 2] is <thing>",
            "<nest> is <nest>",
            "<duo>[0] is <thing>",
            "<duo> is <duo>",
            "<thing>.w is <vec>",
            "<thing>.w is <thing>.w",
            "<roll>['m'] is <nest>",
            "<thing> is not <thing>",
        ],
        "float": [
            "<nest>[<int> % 2].v",
            "sum(q.v for q in <nest>)",
            "<duo>[0].v",
            "<vec>[<int> % 5:].mean()",
        ],
        "vec": ["<nest>[0].w", "<thing>.w[::-1]", "<duo>[0].w * <float>"],
    },
    {
        "nest": ["[Thing(0.5, 1), Thing(1.5, 2)]"],
        "duo": ["(Thing(0.5, 1), [Thing(1.5, 2), Thing(2.5, 3)])"],
        "roll": ["{'k': Thing(0.5, 1), 'm': [Thing(1.5, 2), Thing(2.5, 3)]}"],
    },
    [
        (2.0, "<+my_nest> = <nest>"),
        (1.0, "<+my_duo> = <duo>"),
        (0.8, "<+my_roll> = <roll>"),
        (1.0, "<@my_nest>[<int> % 2] = <thing>"),
        (0.6, "<@my_nest>[0] = <thing>"),
        (0.5, "<@my_nest>.reverse()"),
        (0.6, "<@my_nest> = <nest>"),
        (0.6, "<@my_nest>[0].v += <float>"),
        (0.5, "<@my_nest>[1].w[<index>] = <float>"),
        (0.5, "<@my_roll>['k'] = <thing>"),
        (0.4, "<@my_roll>['m'] = <nest>"),
        (0.8, "<@my_thing> = <thing>"),
        (0.4, "<@my_thing:a>, <@my_thing:b> = <$b>, <$a>"),
        (0.6, "<@my_thing>.w = <@my_vec>"),
        (0.5, "<@my_thing>.w = <@my_vec>[::-1]"),
        (0.5, "<@my_thing>.w = <vec>[1:]"),
        (0.6, "if <bool>:\n    <@my_thing>.w = <@my_vec>[::-1]"),
        (0.6, "if <bool>:\n    <@my_thing> = <thing>\nelse:\n    <@my_thing>.v = <float>"),
        (0.6, "if <bool>:\n    <@my_nest:h> = [<thing>, <thing>]\nelse:\n    <$h>[0] = <thing>"),
        (0.4, "<+my_nest:h> = []\nfor <+my_float:q> in <vec>:\n    <$h>.append(Thing(<$q>, 1))"),
        (0.4, "<+my_vec:a> = <@my_vec>\nif <bool>:\n    <$a> = <$a>[::-1]\n<$a>[0] += <float>"),
        (0.3, "if <thing> is <thing>:\n    <block>\nelse:\n    <block>"),
        (0.3, "for <+thing:t> in <nest>:\n    <$t>.v += <float>\n    <loop>"),
    ],
)
