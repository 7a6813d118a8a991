"""The LLVM text of the native shell (see `shell_text`) that makes objects of numbers: Python's or NumPy's."""

from __future__ import annotations

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
