"""Names that have values of all kinds, lists of outside that grow, and objects of several classes by which name is
which: parts whose templates a program draws anew."""

from __future__ import annotations

import random

from tests.storms.env import Part

HEAD = """\
class Point:
    def __init__(self, x, y):
        self.x, self.y = x, y

    def moved(self, by):
        return Point(self.x + by, self.y * 0.5)


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x, y):
        self.x, self.y = x, y


@dataclasses.dataclass
class Record:
    x: object
    y: object


HIST, LOGS = {"h": []}, []
"""

#: Numbers that are ints at times and floats at others, and are put into lists.
NUMBERS = [
    (1.0, "<@my_float> = <int>"),
    (0.8, "<@my_float:t> = <@int>\nif <bool>:\n    <$t> = <$t> * 0.5"),
    (0.6, "if <bool>:\n    <@my_float> = <int>\nelse:\n    <@my_float> = <float>"),
    (
        0.8,
        "for <+int:k> in range(<small>):\n    <@my_float:t> = <$k>\n    <loop>\n    <@my_floats>.append(<$t>)",
    ),
    (0.8, "<@my_floats>.append(<@float>)"),
]

#: None, text, tuples, numbers, arrays and others by the same names.
MIXED = Part(
    expressions={
        "any": [
            "<float>",
            "<float>",
            "<int>",
            "<vec>",
            "<vec> * 2",
            "<floats>",
            "<str>",
            "<bool>",
            "(<float>, <any>)",
            "(<any>, <any>)",
            "[<any>, <float>]",
            "{'k': <any>, 'm': <float>}",
            "<any> if <bool> else <any>",
            "<any> or <any>",
            "<any> and <any>",
            "<table>",
            "<thing>",
            "<pair>",
            "<vec>[<index>]",
        ],
        "bool": [
            "<any> is None",
            "<any> is not None",
            "<any> is <any>",
            "isinstance(<any>, (int, float))",
            "isinstance(<any>, tuple)",
            "type(<any>) is str",
            "type(<any>) is float",
            "<str> == <any>",
            "<any> == 1",
            "callable(<any>)",
            "not <any>",
        ],
        "float": [
            "<@my_any:a> if isinstance(<$a>, float) else <float>",
            "<float> if <any> is None else <float>",
            "<@my_any:a>[0] if isinstance(<$a>, (tuple, list)) and <$a> else <float>",
        ],
        "int": ["<int> if <any> is None else 1", "<@my_any:a> if type(<$a>) is int else <int>"],
        "str": ["type(<any>).__name__", "<@my_any:a> if isinstance(<$a>, str) else 'c'"],
    },
    leaves={
        "any": ["None", "None", "'a'", "'b'", "1", "2.5", "True", "False", "(1, 'z')", "[]", "()"]
        + ["math.nan", "Color.RED", "Color.BLUE", "int", "b'q'", "CONF", "-0.0", "2 + 1j"]
    },
    statements=[
        (7.0, "<@my_any> = <any>"),
        (0.7, "<+my_any> = <any>"),
        (0.6, "<@my_any>, <@my_any> = <any>, <any>"),
        (0.4, "<@my_any:a>, <@my_any:b> = <$b>, <$a>"),
        (1.6, "if <bool>:\n    return <any>"),
        (0.5, "return <any>"),
        (0.8, "if <bool>:\n    <@my_any> = <any>\n    break"),
        (0.5, "if <bool>:\n    <@my_any> = <any>\n    continue"),
        (0.8, "if <bool>:\n    <@my_any> = <any>\nelse:\n    <@my_any> = <any>"),
        (0.5, "if <bool>:\n    break"),
        (1.0, "<@my_vec:x> = <$x> * 0.5"),
        (1.0, "<@my_float:t> = <$t> * 0.5"),
        (0.8, "<@my_int> += 1"),
        *NUMBERS,
        (0.6, "for <+my_float:v> in <vec>:\n    <loop>\n    if <$v> > <float>:\n        return <any>"),
        (0.6, "<+int:k> = 0\nwhile <bool> and <$k> < 30:\n    <$k> += 1\n    <loop>\nelse:\n    <block>"),
        (
            0.6,
            "<+int:k> = 0\nwhile <@my_float:t> > 0.01 and <$k> < 60:\n    <$k> += 1\n"
            "    <$t> = <$t> * 0.7\n    <loop>",
        ),
        (0.6, "for <+my_any> in (<any>, <any>, <any>):\n    <loop>"),
        (0.5, "try:\n    <block>\nfinally:\n    <@my_float> += 1.0"),
        (0.3, "try:\n    <block>\n    return <any>\nfinally:\n    <block>"),
        (0.3, "try:\n    return <any>\nfinally:\n    <@my_vec>[<index>] = <float>"),
        (0.3, "try:\n    <block>\nexcept (ValueError, TypeError):\n    <@my_any> = <any>"),
        (
            0.4,
            "match <any>:\n    case None:\n        <block>\n    case str() | bytes():\n        <block>\n"
            "    case (_, q):\n        <@my_any> = q\n    case int() | float():\n        <block>\n"
            "    case _:\n        <@my_any> = <any>",
        ),
        (0.3, "with Managed(<thing>):\n    <block>\n    <@my_any> = <any>"),
        (
            0.4,
            "<@my_any:r> = None\nfor <+my_float:q> in <vec>:\n    if <$r> is None or <$q> > <$r>:\n"
            "        <$r> = <$q>",
        ),
        (
            0.4,
            "for <+my_float:q> in <vec>:\n    for <+my_float:p> in <floats>:\n"
            "        if <$p> + <$q> > <float>:\n"
            "            <@my_any> = (<$p>, <any>)\n            break\n    else:\n        continue\n"
            "    <loop>\n    break",
        ),
        (0.3, "<@my_thing>.name = <any>"),
        (0.3, "CONF['any'] = <any>"),
    ],
    opening=[
        "<+my_any> = None",
        "<+my_any> = 's'",
        "<+my_any> = 0",
        "<+my_float> = 1.5 * <float>",
        "<+my_int> = 0",
        "<+my_floats> = [0.5]",
    ],
)


def grown(rng: random.Random) -> Part:
    """Loops that append to lists of outside: those of an object, of a dict, of the module, an argument's."""
    where = rng.choice(("thing.log", "HIST['h']", "LOGS", "held"))
    value = rng.choice(("float(<float>)", "<float>", "<float>", "np.float64(<float>)", "<vec>[<index>]"))
    sort = rng.choice((0, 0, 0, 0, 1, 2, 3))
    fresh = f"float({value})" if value == "<float>" else value  # tuples of literals alone are one object
    item = (value, f"({fresh}, <int>)", "<vec>.copy()", "<vec>")[sort]
    numbers = [
        (0.6, "<@my_float:t> = <@my_hist>[-1] + <$t>"),
        (0.6, "<@my_float> = <@my_hist>[-1]"),
        (0.5, "if len(<@my_hist:h>) > 1 and abs(<$h>[-1] - <$h>[-2]) < <float>:\n    break"),
        (0.3, "if len(<@my_hist:h>) > 2 and <$h>[-1] > <$h>[-3]:\n    return <$h>[-1]"),
        (0.3, "<@my_hist>[-1] += <float>"),
        (0.3, "<@my_float> = sum(<@my_hist>[-3:])"),
        (0.2, "<@my_hist>.sort()"),
        (0.2, "<@my_float> = max(<@my_hist>, default=0.5)"),
    ]
    return Part(
        leaves={"hist": ["[]"], "item": [item]},
        expressions={
            "item": [item],
            "int": ["len(<hist>)"],
            "bool": ["len(<hist>) > <small>", "bool(<hist>)"],
        },
        statements=[
            (5.0, "<@my_hist>.append(<item>)"),
            (0.6, "<@my_hist>.extend([<item>, <item>])"),
            (0.6, "if <bool>:\n    <@my_hist>.append(<item>)"),
            (0.3, "if <bool>:\n    <@my_hist>.append(<item>)\n    break"),
            (0.6, "if len(<@my_hist>) > <small>:\n    break"),
            (0.4, "if <bool>:\n    return len(<@my_hist>)"),
            (0.3, "if <bool>:\n    return <@my_hist>"),
            (0.5, "<@my_hist>.pop()"),
            (0.2, "<@my_hist>.pop(0)"),
            (0.2, "<@my_hist>.insert(0, <item>)"),
            (0.2, "<@my_hist>[<int> % 2] = <item>"),
            (0.2, "<@my_hist>[-1] = <item>"),
            (0.2, "del <@my_hist>[-1]"),
            (0.2, "<@my_hist>.clear()"),
            (0.4, "<@my_float:t> = <$t> + len(<@my_hist>)"),
            (0.3, "<+my_hist> = <@my_hist>"),
            (0.3, "<+my_hist> = list(<@my_hist>)[:2]"),
            (0.3, "<+my_hist> = []"),
            (0.3, "if <@my_hist:h>:\n    <+my_any> = <$h>[0]"),
            (0.3, "thing.log = []"),
            (0.3, "thing.log = <@my_hist>"),
            (0.5, "thing.w = <vec>"),
            (0.5, "thing.n += 1"),
            (0.5, "thing.z = <float>"),
            (1.5, "<@my_vec:x> = <$x> * <small> * 0.1"),
            (1.2, "for <+int> in range(<small>):\n    <loop>\n    <@my_hist>.append(<item>)"),
            (
                0.4,
                "for <+int> in range(200):\n    <loop>\n    if <bool>:\n        break\n"
                "    <@my_hist>.append(<item>)",
            ),
            (
                1.0,
                "<+int:k> = 0\nwhile <@my_vec:x>.sum() > 0.05:\n    <$k> += 1\n    <loop>\n"
                "    <$x> = <$x> * 0.6",
            ),
            (
                0.8,
                "<+int:k> = 0\nwhile True:\n    <$k> += 1\n    <loop>\n    if <$k> > <small>:\n        break\n"
                "    <@my_hist>.append(<item>)",
            ),
            *(numbers if sort == 0 else []),
        ],
        opening=[f"<+my_hist> = {where}"] if rng.random() < 0.3 else [],
        names={where: "my_hist"},
        resets=["HIST['h'] = []", "LOGS.clear()"],
        state=["HIST", "LOGS"],
    )


#: How objects of two parts are made, and their parts: of three classes, and containers.
SHAPES = (
    ("Point({}, {})", "{}.x", "{}.y"),
    ("Slotted({}, {})", "{}.x", "{}.y"),
    ("Record({}, {})", "{}.x", "{}.y"),
    ("{{'x': {}, 'y': {}}}", "{}['x']", "{}['y']"),
    ("[{}, {}]", "{}[0]", "{}[1]"),
    ("({}, {})", "{}[0]", "{}[1]"),
)


def shapes(rng: random.Random) -> Part:
    """Objects of two parts, numbers or arrays, which change places in lists, tuples and dicts."""
    make, x, y = rng.choice(SHAPES)
    arrays = rng.random() < 0.5
    kind = "vec" if arrays else "float"
    of = rng.choice((f"<{kind}>", f"<@{kind}>"))
    new = make.format(of, f"<{kind}>")
    given = make.format(*(["np.array([1.0, 2.0, -0.5, 3.0])"] * 2 if arrays else ["1.0", "2.0"]))
    first = "[0]" if arrays else ""
    o, h = "<@my_obj>", "<@my_objs>"
    changes = [
        (1.2, f"{x.format(o)} = <{kind}>"),
        (1.0, f"{y.format(o)} = <{kind}>"),
        (0.5, f"{x.format(h + '[<int> % 2]')} = <{kind}>"),
        (0.5, f"{x.format('<@my_both>[0]')} = <{kind}>"),
        (0.6, f"{x.format(o)} += 1.0"),
        (0.6, f"{y.format(h + '[0]')} = {x.format(h + '[1]')}"),
        (0.6, f"{x.format('group[0]')} = {x.format(o)}"),
    ]
    writes = [
        (0.8, f"{x.format(o)}[<index>] = <float>"),
        (0.5, f"{x.format('group[<int> % 2]')}[0] += 1.0"),
        (0.5, f"{x.format(o)}[:] = <float>"),
        (0.8, f"<@my_vec> = {x.format(o)}"),
        (0.5, f"<@my_vec> = {y.format(o)}[::-1]"),
        (0.5, f"<+my_vec> = {x.format(h + '[0]')}"),
    ]
    return Part(
        expressions={
            "obj": ["<objs>[<int> % 2]", "<objs>[0]", "<both>[0]", "<bag>['k']", "group[<int> % 2]", new, new]
            + ["<obj> if <bool> else <obj>"]
            + (["<@my_obj>.moved(0.5)"] if make.startswith("Point") else []),
            "objs": [
                "[<obj>, <obj>]",
                "[<@my_obj>, <@my_obj>]",
                "<both>[1]",
                "<bag>['m']",
                "list(<objs>)",
                "group",
            ]
            + ["<objs>[::-1]", "[<obj>, <obj>] if <bool> else [<obj>, <obj>]"],
            "both": ["(<obj>, <objs>)", "(<@my_obj>, <@my_objs>)"],
            "bag": ["{'k': <obj>, 'm': <objs>}", "dict(<bag>)"],
            kind: [x.format("<obj>"), y.format("<obj>")],
            "float": [x.format("<obj>") + first, y.format("<obj>") + first],
            "bool": [
                "<obj> is <obj>",
                "<obj> is not <obj>",
                "<objs>[0] is <objs>[1]",
                "<objs>[<int> % 2] is <@my_obj>",
                "<objs> is <objs>",
                "<both>[0] is <obj>",
                f"{x.format('<obj>')}{first} > {x.format('<obj>')}{first}",
                f"{x.format('<obj>')} is {x.format('<obj>')}",
            ],
        },
        leaves={
            "obj": [new],
            "objs": ["group"],
            "both": [f"({given}, group)"],
            "bag": [f"{{'k': {given}, 'm': group}}"],
        },
        statements=[
            (1.5, "<@my_obj> = <@my_obj>"),
            (2.0, "<@my_obj> = <obj>"),
            (0.6, "<@my_obj:a>, <@my_obj:b> = <$b>, <$a>"),
            (1.0, "<@my_objs>[<int> % 2] = <obj>"),
            (1.0, "<@my_objs> = <objs>"),
            (0.5, "<@my_both> = <both>"),
            (0.5, "<@my_bag> = <bag>"),
            (0.4, "<@my_bag>['k'] = <obj>"),
            (0.4, "<@my_bag>['m'] = <objs>"),
            (0.4, "group[<int> % 2] = <obj>"),
            (0.4, "<@my_objs>.reverse()"),
            (0.4, "<@my_float> += float(<@my_objs>[0] is <obj>)"),
            (0.6, "if <bool>:\n    return <@my_obj>, <objs>"),
            (0.4, "if <bool>:\n    raise ValueError(<float>)"),
            (
                1.0,
                "<+int:k> = 0\nwhile <@my_float:t> > 0.0 and <$k> < 12:\n    <$k> += 1\n    <loop>\n"
                "    <$t> -= 1.0",
            ),
            (0.8, "for <+int> in range(<int> % 9):\n    <loop>"),
            (0.5, "for <+my_obj> in <objs>:\n    <loop>"),
            *(changes if not make.startswith("(") else []),
            *(writes if arrays else []),
        ],
        opening=[
            *(
                ["<+my_vec> = np.array([<float>, 2.0, <float>, 3.0])"]
                if arrays
                else ["<+my_float> = <float>"]
            ),
            *[f"<+my_obj> = {make.format(of, of)}"] * 3,
            "<+my_objs> = [<@my_obj>, <@my_obj>]",
            "<+my_both> = (<@my_obj>, <@my_objs>)",
            "<+my_bag> = {'k': <@my_obj>, 'm': <@my_objs>}",
        ],
        names={"group": "objs"},
        arguments={"o": ("my_obj", [given, "shared_o", "shared_o", "group[0]"])},
        resets=[
            *(["global shared_o, group"] if rng.random() < 0.5 else []),
            f"shared_o, group = {given}, [{given}, {given}]",
        ],
        state=["shared_o, group"],
    )
