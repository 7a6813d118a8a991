"""Payne and Hanek's reduction of huge arguments of sin, cos and tan, as LLVM text.

|x| = m * 2**e with a 53-bit integer m. Bits of 2/pi that contribute multiples of 4 to the product are
skipped; the next 192 give |x|*2/pi modulo 4 to 137 fraction bits, more than the worst cancellation (61)
needs. Functions are out of line. For vector loops each has masked variants (LLVM's vector function ABI)
that test once whether any lane is concerned and otherwise return at once.
"""

from __future__ import annotations

from tracejit.lowering.vecmath.tables import TWO_OVER_PI_WORDS

_WIDTHS = {"double": (2, 4, 8, 16), "float": (4, 8, 16, 32)}
_PURE = "nounwind willreturn memory(none)"
_NAMES = ("huge_rest", "huge_quarter")

_REDUCE = """
define internal i192 @tj.huge.product(double %x) noinline nounwind willreturn memory(none) {{
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
  %top = lshr i256 %aligned, 64
  %window = trunc i256 %top to i192
  %m.wide = zext i64 %m to i192
  %product = mul i192 %window, %m.wide
  ret i192 %product
}}

define internal double @tj.huge_quarter.f64(double %x) noinline {pure} {{
  %p = call i192 @tj.huge.product(double %x)
  %round = add i192 %p, {half}
  %q.wide = lshr i192 %round, 190
  %q = trunc i192 %q.wide to i32
  %f = uitofp i32 %q to double
  %neg = fneg double %f
  %minus = fcmp olt double %x, 0.0
  %r = select i1 %minus, double %neg, double %f
  ret double %r
}}

define internal double @tj.huge_rest.f64(double %x) noinline {pure} {{
  %p = call i192 @tj.huge.product(double %x)
  %fraction = shl i192 %p, 2
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
  %zeros.small = trunc i192 %zeros to i64
  %exponent = sub i64 969, %zeros.small
  %scale.bits = shl i64 %exponent, 52
  %scale = bitcast i64 %scale.bits to double
  %scaled = fmul double %r, %scale
  %negated.r = fneg double %scaled
  %x.minus = fcmp olt double %x, 0.0
  %flip = xor i1 %below, %x.minus
  %y = select i1 %flip, double %negated.r, double %scaled
  %size.x = call double @llvm.fabs.f64(double %x)
  %finite = fcmp olt double %size.x, 0x7FF0000000000000
  %result = select i1 %finite, double %y, double 0x7FF8000000000000
  ret double %result
}}
"""


def _single(name: str) -> str:
    return f"""
define internal float @tj.{name}.f32(float %x) noinline {_PURE} {{
  %wide = fpext float %x to double
  %y = call double @tj.{name}.f64(double %wide)
  %r = fptrunc double %y to float
  ret float %r
}}"""


def _lanes(scalar: str, type_: str, n: int) -> str:
    """The out-of-line variant: lane by lane where the mask is set."""
    v = f"<{n} x {type_}>"
    lines = [f"define internal {v} @{scalar}.v{n}.lanes({v} %x, <{n} x i1> %mask) noinline {_PURE} {{", "  br label %l0"]
    for i in range(n):
        prior = "poison" if i == 0 else f"%a{i - 1}"
        before = "0" if i == 0 else f"l{i - 1}.done"
        lines += [
            f"l{i}:",
            f"  %m{i} = extractelement <{n} x i1> %mask, i64 {i}",
            f"  br i1 %m{i}, label %l{i}.do, label %l{i}.done",
            f"l{i}.do:",
            f"  %x{i} = extractelement {v} %x, i64 {i}",
            f"  %y{i} = call {type_} @{scalar}({type_} %x{i})",
            f"  %b{i} = insertelement {v} {prior}, {type_} %y{i}, i64 {i}",
            f"  br label %l{i}.done",
            f"l{i}.done:",
            f"  %a{i} = phi {v} [ {prior}, %l{i} ], [ %b{i}, %l{i}.do ]",
            f"  br label %{f'l{i + 1}' if i + 1 < n else 'end'}",
        ]
        del before
    return "\n".join([*lines, "end:", f"  ret {v} %a{n - 1}", "}"])


def _variant(scalar: str, type_: str, n: int) -> str:
    """The masked variant that the vectoriser calls: any lane set?"""
    v = f"<{n} x {type_}>"
    return f"""
define hidden {v} @{scalar}.v{n}({v} %x, <{n} x i1> %mask) alwaysinline {_PURE} {{
  %any = call i1 @llvm.vector.reduce.or.v{n}i1(<{n} x i1> %mask)
  br i1 %any, label %slow, label %done
slow:
  %y = call {v} @{scalar}.v{n}.lanes({v} %x, <{n} x i1> %mask)
  br label %done
done:
  %r = phi {v} [ zeroinitializer, %0 ], [ %y, %slow ]
  ret {v} %r
}}
{_lanes(scalar, type_, n)}"""


def call_attributes(name: str, size: int) -> str:
    """The call-site attributes that name the vector variants."""
    scalar = f"tj.{name}.f{size * 8}"
    widths = _WIDTHS["double" if size == 8 else "float"]
    variants = ",".join(f"_ZGV_LLVM_M{n}v_{scalar}({scalar}.v{n})" for n in widths)
    return f'nounwind willreturn memory(none) "vector-function-abi-variant"="{variants}"'


def definitions(size: int) -> str:
    """Everything that calls in the format of `size` bytes need (float32 also needs size 8's)."""
    type_ = "double" if size == 8 else "float"
    parts = [_variant(f"tj.{name}.f{size * 8}", type_, n) for name in _NAMES for n in _WIDTHS[type_]]
    if size == 4:
        return "\n".join([*map(_single, _NAMES), *parts])
    words = ", ".join(f"i64 {w - 2**64 if w >= 2**63 else w}" for w in TWO_OVER_PI_WORDS)
    table = f"@tj.two_over_pi = internal constant [{len(TWO_OVER_PI_WORDS)} x i64] [{words}]"
    return "\n".join([table, _REDUCE.format(pure=_PURE, half=1 << 189), *parts])
