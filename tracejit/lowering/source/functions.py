"""The vector functions as Python: the operations that `llvm/vecmath` has recorded, one after another."""

from __future__ import annotations

from tracejit.lowering.llvm.vecmath.functions import huge
from tracejit.lowering.llvm.vecmath.tables import TWO_OVER_PI_WORDS

_TABLE = ",\n        ".join(
    ", ".join(f"{w:#018x}" for w in TWO_OVER_PI_WORDS[n : n + 4]) for n in range(0, len(TWO_OVER_PI_WORDS), 4)
)

#: The reduction of huge arguments of sin, cos and tan by Payne and Hanek, as in `vecmath/functions/huge`, on words of
#: 64 bits.
HUGE = {
    "TWO_OVER_PI": f"""
#: The bits of 2/pi.
TWO_OVER_PI = np.array(
    [
        {_TABLE},
    ],
    u8,
)
""",
    "wide_product": '''
@native
def wide_product(x, y):
    """The high and the low word of a product of words."""
    low = u8(0xFFFFFFFF)
    x0, x1, y0, y1 = x & low, x >> u8(32), y & low, y >> u8(32)
    middle = x1 * y0 + ((x0 * y0) >> u8(32))
    cross = x0 * y1 + (middle & low)
    return x1 * y1 + (middle >> u8(32)) + (cross >> u8(32)), x * y
''',
    "moved_up": '''
@native
def moved_up(a, b, c, count):
    """Three words, the highest first, as one number that is shifted left by less than 192."""
    if count >= 128:
        a, b, c = c, u8(0), u8(0)
    elif count >= 64:
        a, b, c = b, c, u8(0)
    n = u8(count & 63)
    if n == 0:
        return a, b, c
    m = u8(64) - n
    return (a << n) | (b >> m), (b << n) | (c >> m), c << n
''',
    "huge_pair": '''
@native
def huge_pair(x):
    """What is left of a huge x after multiples of pi/2, in two parts. The last two bits of the second are the number
    of quarters."""
    whole = u8(bits(x))
    mantissa = (whole & u8(0xFFFFFFFFFFFFF)) | u8(0x10000000000000)
    start = min(max(i8((whole >> u8(52)) & u8(2047)) - 1013, 0), 1087)
    word, n = start >> 6, u8(start & 63)
    a, b, c, d = TWO_OVER_PI[word], TWO_OVER_PI[word + 1], TWO_OVER_PI[word + 2], TWO_OVER_PI[word + 3]
    a, b, c0 = moved_up(a, b, c, i8(n))
    if n != 0:
        c0 = c0 | (d >> (u8(64) - n))
    high0, low0 = wide_product(c0, mantissa)
    high1, low1 = wide_product(b, mantissa)
    p1 = low1 + high0
    carry1 = u8(p1 < high0)
    p2 = a * mantissa + high1 + carry1
    f2, f1, f0 = moved_up(p2, p1, low0, 2)
    below = i8(f2) < 0
    if below:  # its negative
        f0, f1, f2 = ~f0 + u8(1), ~f1, ~f2
        if f0 == 0:
            f1 = f1 + u8(1)
            if f1 == 0:
                f2 = f2 + u8(1)
    zeros = i8(leading_zeros(f2))
    if f2 == 0:
        zeros = 64 + i8(leading_zeros(f1))
        if f1 == 0:
            zeros = 128 + i8(leading_zeros(f0))
    n2, n1, n0 = moved_up(f2, f1, f0, zeros)
    high = f8(n2 >> u8(11))
    low = f8(((n1 >> u8(22)) | (n2 << u8(42))) & u8(0x1FFFFFFFFFFFFF)) * 2.0**-53
    h = high * PI_HALF
    rest = fma(low, PI_HALF, fma(high, PI_HALF_TAIL, fma(high, PI_HALF, -h)))
    r = h + rest
    lost = rest - (r - h)
    scale = floats((970 - zeros) << 52)
    factor = -scale if below != (x < 0.0) else scale
    if not fabs(x) < np.inf:
        factor = np.nan
    quarters = i8((p2 + u8(1 << 61)) >> u8(62))
    if x < 0.0:
        quarters = -quarters
    return r * factor, floats((bits(lost * factor) & -4) | (quarters & 3))
''',
    "PI_HALF": "PI_HALF, PI_HALF_TAIL = 1.5707963267948966, 6.123233995736766e-17",
    "PI_HALF_TAIL": "",
    "huge_rest": '''
@native
def huge_rest(x):
    """What is left of a huge x after multiples of pi/2."""
    return huge_pair(x)[0]
''',
    "huge_tail": '''
@native
def huge_tail(x):
    """What rounding `huge_rest` has lost; its last two bits are the number of quarters."""
    return huge_pair(x)[1]
''',
    "huge_sin": '''
@native
def huge_sin(x):
    """An angle within pi/2 that has the sine of a huge x."""
    rest, tail = huge_pair(x)
    q = bits(tail)
    angle = PI_HALF - fabs(rest) if q & 1 else rest
    return -angle if q & 2 else angle
''',
    "huge_cos": '''
@native
def huge_cos(x):
    """An angle within pi/2 whose sine is the cosine of a huge x."""
    rest, tail = huge_pair(x)
    q = bits(tail) + 1
    angle = PI_HALF - fabs(rest) if q & 1 else rest
    return -angle if q & 2 else angle
''',
}
assert set(huge.NAMES) <= set(HUGE)


#: What the file calls the types of numbers.
TYPES = frozenset(f"{c}{n}" for c in "biufc" for n in (1, 2, 4, 8))


def name_of(name: str, size: int) -> str:
    """How the file calls the function of floats of `size` bytes: not as a type, which `i1` is."""
    plain = name.replace(".", "_")
    return plain if size == 8 and plain not in TYPES else f"{plain}_f{size}"
