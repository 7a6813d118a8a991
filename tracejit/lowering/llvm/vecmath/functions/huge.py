"""Payne and Hanek's reduction of huge arguments of sin, cos and tan, as LLVM text.

|x| = m * 2**e with a 53-bit integer m. Bits of 2/pi that contribute multiples of 4 to the product are
skipped; the next 192 give |x|*2/pi modulo 4 to 137 fraction bits, more than the worst cancellation (61)
needs. `huge_rest` is the remainder, `huge_tail` what rounding it lost, with the quarter (0 to 3) in its two
lowest bits; `huge_sin` and `huge_cos` are angles within pi/2 that have the sine, or the cosine, as their sine.
They are called as `rare` says, lane by lane. They are `optnone`: optimising them would take longer than most
kernels, for a few per cent of a rare path.
"""

from __future__ import annotations

from tracejit.lowering.llvm.vecmath.outline import PURE
from tracejit.lowering.llvm.vecmath.rare import by_lane
from tracejit.lowering.llvm.vecmath.tables import TWO_OVER_PI_WORDS

NAMES = ("huge_rest", "huge_tail", "huge_sin", "huge_cos")

_REDUCE = """
define internal {{double, double}} @tj.huge.pair(double %x) noinline optnone cold {pure} {{
  %bits = bitcast double %x to i64
  %mantissa = and i64 %bits, 4503599627370495
  %m = or i64 %mantissa, 4503599627370496
  %shifted = lshr i64 %bits, 52
  %biased = and i64 %shifted, 2047
  %e = sub i64 %biased, 1075
  %start = add i64 %e, 62
  %safe = call i64 @llvm.smax.i64(i64 %start, i64 0)
  %bounded = call i64 @llvm.smin.i64(i64 %safe, i64 1087)
  %word = lshr i64 %bounded, 6
  %bit = and i64 %bounded, 63
  %bit.wide = zext i64 %bit to i256
  %p0 = getelementptr inbounds i64, ptr @tj.two_over_pi, i64 %word
  %w0 = load i64, ptr %p0
  %p1 = getelementptr inbounds i64, ptr %p0, i64 1
  %w1 = load i64, ptr %p1
  %p2 = getelementptr inbounds i64, ptr %p0, i64 2
  %w2 = load i64, ptr %p2
  %p3 = getelementptr inbounds i64, ptr %p0, i64 3
  %w3 = load i64, ptr %p3
  %v0 = zext i64 %w0 to i256
  %v1 = zext i64 %w1 to i256
  %v2 = zext i64 %w2 to i256
  %v3 = zext i64 %w3 to i256
  %s0 = shl i256 %v0, 192
  %s1 = shl i256 %v1, 128
  %s2 = shl i256 %v2, 64
  %o1 = or i256 %s0, %s1
  %o2 = or i256 %s2, %v3
  %o3 = or i256 %o1, %o2
  %aligned = shl i256 %o3, %bit.wide
  %wanted = lshr i256 %aligned, 64
  %window = trunc i256 %wanted to i192
  %m.wide = zext i64 %m to i192
  %product = mul i192 %window, %m.wide
  %fraction = shl i192 %product, 2
  %below = icmp slt i192 %fraction, 0
  %negated = sub i192 0, %fraction
  %size = select i1 %below, i192 %negated, i192 %fraction
  %zeros = call i192 @llvm.ctlz.i192(i192 %size, i1 false)
  %normal = shl i192 %size, %zeros
  %top.wide = lshr i192 %normal, 128
  %top = trunc i192 %top.wide to i64
  %high = lshr i64 %top, 11
  %high.f = uitofp i64 %high to double
  %next.wide = lshr i192 %normal, 86
  %next = trunc i192 %next.wide to i64
  %low = and i64 %next, 9007199254740991
  %low.f = uitofp i64 %low to double
  %low.s = fmul double %low.f, 0x3CA0000000000000
  %h = fmul double %high.f, 0x3FF921FB54442D18
  %h.neg = fneg double %h
  %h.lost = call double @llvm.fma.f64(double %high.f, double 0x3FF921FB54442D18, double %h.neg)
  %h.more = call double @llvm.fma.f64(double %high.f, double 0x3C91A62633145C07, double %h.lost)
  %h.rest = call double @llvm.fma.f64(double %low.s, double 0x3FF921FB54442D18, double %h.more)
  %r = fadd double %h, %h.rest
  %r.moved = fsub double %r, %h
  %c = fsub double %h.rest, %r.moved
  %zeros.small = trunc i192 %zeros to i64
  %exponent = sub i64 970, %zeros.small
  %scale.bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %x.minus = fcmp olt double %x, 0.0
  %flip = xor i1 %below, %x.minus
  %minus = fneg double %scale
  %signed = select i1 %flip, double %minus, double %scale
  %size.x = call double @llvm.fabs.f64(double %x)
  %finite = fcmp olt double %size.x, 0x7FF0000000000000
  %factor = select i1 %finite, double %signed, double 0x7FF8000000000000
  %y = fmul double %r, %factor
  %y.tail = fmul double %c, %factor
  %round = add i192 %product, {half}
  %q.wide = lshr i192 %round, 190
  %q.abs = trunc i192 %q.wide to i64
  %q.neg = sub i64 0, %q.abs
  %q = select i1 %x.minus, i64 %q.neg, i64 %q.abs
  %q.low = and i64 %q, 3
  %tail.bits = bitcast double %y.tail to i64
  %tail.clear = and i64 %tail.bits, -4
  %tail.marked = or i64 %tail.clear, %q.low
  %tail = bitcast i64 %tail.marked to double
  %first = insertvalue {{double, double}} poison, double %y, 0
  %both = insertvalue {{double, double}} %first, double %tail, 1
  ret {{double, double}} %both
}}
"""

_PART = {
    name: f"""
define internal double @tj.{name}.f64(double %x) noinline optnone cold {PURE} {{
  %p = call {{double, double}} @tj.huge.pair(double %x)
  %r = extractvalue {{double, double}} %p, {index}
  ret double %r
}}
"""
    for index, name in enumerate(("huge_rest", "huge_tail"))
}
_ANGLE = """
define internal double @tj.{name}.f64(double %x) noinline optnone cold {pure} {{
  %p = call {{double, double}} @tj.huge.pair(double %x)
  %r = extractvalue {{double, double}} %p, 0
  %tail = extractvalue {{double, double}} %p, 1
  %bits = bitcast double %tail to i64
  %q = add i64 %bits, {ahead}
  %odd = trunc i64 %q to i1
  %a = call double @llvm.fabs.f64(double %r)
  %other = fsub double 0x3FF921FB54442D18, %a
  %v = select i1 %odd, double %other, double %r
  %top = shl i64 %q, 62
  %below = icmp slt i64 %top, 0
  %minus = fneg double %v
  %angle = select i1 %below, double %minus, double %v
  ret double %angle
}}
"""


def definitions(name: str, lanes: bool) -> str:
    """A function, which is float64's only; with `lanes` also the form for those of vectors."""
    angle = {"huge_sin": 0, "huge_cos": 1}.get(name)
    text = _PART[name] if angle is None else _ANGLE.format(name=name, ahead=angle, pure=PURE)
    return text + by_lane(f"tj.{name}.f64", "double") if lanes else text


def reduction() -> str:
    """What all of them call."""
    return _table() + _REDUCE.format(pure=PURE, half=1 << 189)


def _table() -> str:
    words = ", ".join(f"i64 {w - 2**64 if w >= 2**63 else w}" for w in TWO_OVER_PI_WORDS)
    return f"@tj.two_over_pi = internal constant [{len(TWO_OVER_PI_WORDS)} x i64] [{words}]"
