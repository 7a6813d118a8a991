"""The LLVM text of the native shell (see `shell_text`) that makes objects of numbers, Python's or NumPy's; and of
calls of Python's functions with numbers, which programs make for what is printed in loops."""

from __future__ import annotations

from collections.abc import Sequence

TEXT = """
; The number in the slot as an object: Python's, or NumPy's of a dtype. Null when there is no memory.
define internal ptr @number_of(ptr %spec, ptr %slot, ptr %api) nounwind {{
  %kind = call i64 @number(ptr %spec, i64 0)
  %long = load i64, ptr %slot
  %double = load double, ptr %slot
  switch i64 %kind, label %scalar [ i64 {of_bool}, label %bool  i64 {of_int}, label %int
                                    i64 {of_float}, label %float  i64 {of_complex}, label %complex ]
bool:
  %byte = load i8, ptr %slot
  %is = icmp ne i8 %byte, 0
  %which = select i1 %is, i64 {true}, i64 {false}
  %truth = call ptr @word(ptr %api, i64 %which)
  %incref = call ptr @word(ptr %api, i64 {incref})
  call void %incref(ptr %truth)
  ret ptr %truth
int:
  %of.long = call ptr @word(ptr %api, i64 {long})
  %an.int = call ptr %of.long(i64 %long)
  ret ptr %an.int
float:
  %of.double = call ptr @word(ptr %api, i64 {float})
  %a.float = call ptr %of.double(double %double)
  ret ptr %a.float
complex:
  %second = getelementptr inbounds i8, ptr %slot, i64 8
  %imaginary = load double, ptr %second
  %of.doubles = call ptr @word(ptr %api, i64 {complex})
  %a.complex = call ptr %of.doubles(double %double, double %imaginary)
  ret ptr %a.complex
scalar:
  %descr = call ptr @word(ptr %spec, i64 1)
  %of.dtype = call ptr @word(ptr %api, i64 {scalar})
  %made = call ptr %of.dtype(ptr %slot, ptr %descr, ptr null)
  ret ptr %made
}}
"""

#: What a call of numbers asks Python for, before the functions that make its objects.
ASKED = ("PyGILState_Ensure", "PyGILState_Release", "PyObject_Vectorcall", "Py_DecRef", "_Py_NoneStruct")
#: By the dtype of a number in memory: what makes Python's of it, and how it is given to that.
_MAKERS = {
    "float64": ("PyFloat_FromDouble", "double", "double", ""),
    "float32": ("PyFloat_FromDouble", "float", "double", "fpext"),
    "int64": ("PyLong_FromLongLong", "i64", "i64", ""),
    "int32": ("PyLong_FromLongLong", "i32", "i64", "sext"),
    "bool": ("PyBool_FromLong", "i8", "i64", "zext"),
}
#: Dtypes of numbers that a call can be given.
MADE = frozenset(_MAKERS)


def call_text(dtypes: Sequence[str], interrupted: int, raised: int) -> tuple[str, tuple[str, ...]]:
    """The module of an `i32(pointers)` that calls a function of Python's with the numbers of these dtypes there: 0 if
    it gives None, `raised` if it gives anything else, `interrupted` with an exception set if it raises; and the names
    of what the module imports, before the function itself."""
    makers = sorted({_MAKERS[d][0] for d in dtypes})
    names = (*ASKED, *makers)
    size = len(names) + 1
    lines = [f"@imports = global [{size} x ptr] zeroinitializer", ""]
    lines += [
        f"define i32 @entry({', '.join(f'ptr %p{n}' for n in range(len(dtypes)))}) nounwind {{",
        "start:",
    ]
    for n, name in enumerate((*names, "function")):
        lines += [
            f"  %at.{n} = getelementptr ptr, ptr @imports, i64 {n}",
            f"  %{name} = load ptr, ptr %at.{n}",
        ]
    lines += [f"  %given = alloca [{len(dtypes) + 1} x ptr]", "  %state = call i32 %PyGILState_Ensure()"]
    for n, d in enumerate(dtypes):
        maker, kept, wide, cast = _MAKERS[d]
        lines.append(f"  %v{n} = load {kept}, ptr %p{n}")
        value = f"%v{n}"
        if cast:
            lines.append(f"  %w{n} = {cast} {kept} %v{n} to {wide}")
            value = f"%w{n}"
        lines += [
            f"  %o{n} = call ptr %{maker}({wide} {value})",
            f"  %in.{n} = getelementptr ptr, ptr %given, i64 {n}",
        ]
        lines.append(f"  store ptr %o{n}, ptr %in.{n}")
    made = "true"
    for n in range(len(dtypes)):  # there may be no memory for one
        lines += [f"  %is.{n} = icmp ne ptr %o{n}, null", f"  %made.{n} = and i1 {made}, %is.{n}"]
        made = f"%made.{n}"
    lines += [f"  br i1 {made}, label %call, label %end", "call:"]
    called = f"call ptr %PyObject_Vectorcall(ptr %function, ptr %given, i64 {len(dtypes)}, ptr null)"
    lines += [f"  %called = {called}", "  br label %end", "end:"]
    lines.append("  %result = phi ptr [ null, %start ], [ %called, %call ]")
    lines += [f"  call void %Py_DecRef(ptr %o{n})" for n in range(len(dtypes))]
    lines += [
        "  call void %Py_DecRef(ptr %result)",
        "  call void %PyGILState_Release(i32 %state)",
        "  %failed = icmp eq ptr %result, null",
        "  %nothing = icmp eq ptr %result, %_Py_NoneStruct",
        f"  %otherwise = select i1 %nothing, i32 0, i32 {raised}",
        f"  %code = select i1 %failed, i32 {interrupted}, i32 %otherwise",
        "  ret i32 %code",
        "}",
    ]
    return "\n".join(lines) + "\n", names
