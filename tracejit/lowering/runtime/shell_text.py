"""The LLVM text of the native shell (see `shell`): one module for all executables of a process.

`@entry(self, args, nargs)` is a METH_FASTCALL function. `self` is a tuple whose first item is a bytes object, the
frame: 8-byte words at the indices of `shell.FRAME`. In order it checks the arguments and notes where their data
lies, makes the outputs, calls the program, and gives the outputs.
"""

from __future__ import annotations

TEXT = """
define internal ptr @word(ptr %table, i64 %index) alwaysinline nounwind {{
  %at = getelementptr inbounds ptr, ptr %table, i64 %index
  %word = load ptr, ptr %at, align 1
  ret ptr %word
}}

define internal i64 @number(ptr %table, i64 %index) alwaysinline nounwind {{
  %at = getelementptr inbounds i64, ptr %table, i64 %index
  %number = load i64, ptr %at, align 1
  ret i64 %number
}}

define internal i1 @equal(ptr %a, ptr %b, i64 %count) alwaysinline nounwind {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %x = call i64 @number(ptr %a, i64 %i)
  %y = call i64 @number(ptr %b, i64 %i)
  %next = add i64 %i, 1
  %same = icmp eq i64 %x, %y
  br i1 %same, label %head, label %done
done:
  %result = phi i1 [ true, %head ], [ false, %body ]
  ret i1 %result
}}

; Where the data of an argument lies; null if it is not what the specification says. Python's integers and
; booleans are written into the slot.
define internal ptr @data(ptr %spec, ptr %object, ptr %slot, ptr %api) nounwind {{
  %type.at = getelementptr inbounds i8, ptr %object, i64 {type}
  %type = load ptr, ptr %type.at
  %kind = call i64 @number(ptr %spec, i64 0)
  %wanted = call ptr @word(ptr %spec, i64 1)
  %unchecked = icmp eq i64 %kind, {any}
  br i1 %unchecked, label %array, label %typed
typed:
  %right = icmp eq ptr %type, %wanted
  br i1 %right, label %which, label %wrong
which:
  switch i64 %kind, label %wrong [ i64 {checked}, label %layout  i64 {inside}, label %scalar
                                   i64 {integer}, label %int  i64 {boolean}, label %bool ]
layout:
  %descr.at = getelementptr inbounds i8, ptr %object, i64 {descr}
  %descr = load ptr, ptr %descr.at
  %descr.wanted = call ptr @word(ptr %spec, i64 2)
  %descr.same = icmp eq ptr %descr, %descr.wanted
  %flags.at = getelementptr inbounds i8, ptr %object, i64 {flags}
  %flags.narrow = load i32, ptr %flags.at
  %flags = sext i32 %flags.narrow to i64
  %mask = call i64 @number(ptr %spec, i64 3)
  %masked = and i64 %flags, %mask
  %flags.good = icmp eq i64 %masked, %mask
  %rank.at = getelementptr inbounds i8, ptr %object, i64 {rank}
  %rank.narrow = load i32, ptr %rank.at
  %rank = sext i32 %rank.narrow to i64
  %rank.wanted = call i64 @number(ptr %spec, i64 4)
  %rank.same = icmp eq i64 %rank, %rank.wanted
  %good.1 = and i1 %descr.same, %flags.good
  %good.2 = and i1 %good.1, %rank.same
  br i1 %good.2, label %shape, label %wrong
shape:
  %shape.at = getelementptr inbounds i8, ptr %object, i64 {shape}
  %shape.is = load ptr, ptr %shape.at
  %shape.wanted = call ptr @word(ptr %spec, i64 5)
  %shape.same = call i1 @equal(ptr %shape.is, ptr %shape.wanted, i64 %rank)
  br i1 %shape.same, label %steps, label %wrong
steps:
  %strides.wanted = call ptr @word(ptr %spec, i64 6)
  %contiguous = icmp eq ptr %strides.wanted, null
  br i1 %contiguous, label %array, label %strides
strides:
  %strides.at = getelementptr inbounds i8, ptr %object, i64 {strides}
  %strides.are = load ptr, ptr %strides.at
  %strides.same = call i1 @equal(ptr %strides.are, ptr %strides.wanted, i64 %rank)
  br i1 %strides.same, label %array, label %wrong
array:
  %data.at = getelementptr inbounds i8, ptr %object, i64 {data}
  %data = load ptr, ptr %data.at
  ret ptr %data
scalar:
  %inside = getelementptr inbounds i8, ptr %object, i64 {value}
  ret ptr %inside
int:
  %overflow = getelementptr inbounds i8, ptr %slot, i64 8
  store i32 0, ptr %overflow
  %convert = call ptr @word(ptr %api, i64 {as_long})
  %long = call i64 %convert(ptr %object, ptr %overflow)
  %over = load i32, ptr %overflow
  %fits = icmp eq i32 %over, 0
  store i64 %long, ptr %slot
  %from = call i64 @number(ptr %spec, i64 2)
  %most = call i64 @number(ptr %spec, i64 3)
  %above = sub i64 %long, %from
  %near = icmp ule i64 %above, %most
  %good.int = and i1 %fits, %near
  br i1 %good.int, label %stored, label %wrong
bool:
  %true = call ptr @word(ptr %api, i64 {true})
  %is = icmp eq ptr %object, %true
  %byte = zext i1 %is to i8
  store i8 %byte, ptr %slot
  br label %stored
stored:
  ret ptr %slot
wrong:
  ret ptr null
}}

define internal void @drop(ptr %objects, i64 %count, ptr %api) nounwind {{
  br label %head
head:
  %i = phi i64 [ 0, %0 ], [ %next, %body ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
  %object = call ptr @word(ptr %objects, i64 %i)
  %decref = call ptr @word(ptr %api, i64 {decref})
  call void %decref(ptr %object)
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}}

; A new array. A large one gets its memory from our handler (`results`), unless the user has set one.
define internal ptr @array(ptr %spec, ptr %api) nounwind {{
  %descr = call ptr @word(ptr %spec, i64 1)
  %rank = call i64 @number(ptr %spec, i64 2)
  %rank.narrow = trunc i64 %rank to i32
  %shape = call ptr @word(ptr %spec, i64 3)
  %ours = call ptr @word(ptr %spec, i64 5)
  %incref = call ptr @word(ptr %api, i64 {incref})
  %decref = call ptr @word(ptr %api, i64 {decref})
  %empty = call ptr @word(ptr %api, i64 {empty})
  call void %incref(ptr %descr)
  %is.large = icmp ne ptr %ours, null
  br i1 %is.large, label %ask, label %plain
ask:
  %get = call ptr @word(ptr %api, i64 {current})
  %current = call ptr %get()
  %usual = call ptr @word(ptr %api, i64 {usual})
  %is.usual = icmp eq ptr %current, %usual
  br i1 %is.usual, label %change, label %keep
change:
  %set = call ptr @word(ptr %api, i64 {set})
  %before = call ptr %set(ptr %ours)
  %failed = icmp eq ptr %before, null
  br i1 %failed, label %keep, label %make
make:
  %made = call ptr %empty(i32 %rank.narrow, ptr %shape, ptr %descr, i32 0)
  %after = call ptr %set(ptr %usual)
  call void %decref(ptr %before)
  call void %decref(ptr %after)
  call void %decref(ptr %current)
  ret ptr %made
keep:
  call void %decref(ptr %current)
  br label %plain
plain:
  %array = call ptr %empty(i32 %rank.narrow, ptr %shape, ptr %descr, i32 0)
  ret ptr %array
}}

; Output k before the call: a new array, an argument, or null for a scalar, whose value goes into the slot.
; False when there is no memory.
define internal i1 @output(ptr %spec, i64 %k, ptr %args, ptr %objects, ptr %to, ptr %slot, ptr %api) nounwind {{
  %kind = call i64 @number(ptr %spec, i64 0)
  %object.at = getelementptr inbounds ptr, ptr %objects, i64 %k
  %incref = call ptr @word(ptr %api, i64 {incref})
  switch i64 %kind, label %scalar [ i64 {fresh}, label %new  i64 {given}, label %argument ]
scalar:
  store ptr null, ptr %object.at
  store ptr %slot, ptr %to
  ret i1 true
new:
  %made = call ptr @array(ptr %spec, ptr %api)
  %some = icmp ne ptr %made, null
  br i1 %some, label %have, label %none
none:
  ret i1 false
argument:
  %index = call i64 @number(ptr %spec, i64 4)
  %argument.is = call ptr @word(ptr %args, i64 %index)
  call void %incref(ptr %argument.is)
  br label %have
have:
  %object = phi ptr [ %made, %new ], [ %argument.is, %argument ]
  store ptr %object, ptr %object.at
  %data.at = getelementptr inbounds i8, ptr %object, i64 {data}
  %data = load ptr, ptr %data.at
  store ptr %data, ptr %to
  ret i1 true
}}

define ptr @entry(ptr %self, ptr %args, i64 %nargs) nounwind {{
  %bytes.at = getelementptr inbounds i8, ptr %self, i64 {items}
  %bytes = load ptr, ptr %bytes.at
  %frame = getelementptr inbounds i8, ptr %bytes, i64 {bytes_data}
  %program = call ptr @word(ptr %frame, i64 0)
  %params = call ptr @word(ptr %frame, i64 1)
  %table = call ptr @word(ptr %frame, i64 2)
  %count = call i64 @number(ptr %frame, i64 3)
  %ins = call i64 @number(ptr %frame, i64 4)
  %outs = call i64 @number(ptr %frame, i64 5)
  %in.specs = call ptr @word(ptr %frame, i64 6)
  %out.specs = call ptr @word(ptr %frame, i64 7)
  %scratch = call i64 @number(ptr %frame, i64 8)
  %release = call i64 @number(ptr %frame, i64 9)
  %single = call i64 @number(ptr %frame, i64 10)
  %miss = call ptr @word(ptr %frame, i64 11)
  %fail = call ptr @word(ptr %frame, i64 12)
  %api = call ptr @word(ptr %frame, i64 13)
  %quiet.at = call ptr @word(ptr %frame, i64 14)
  %errors.at = alloca ptr, align 8
  %report = alloca [{words} x i64], align 16
  %status = getelementptr inbounds i64, ptr %report, i64 1
  %stack = alloca i8, i64 %scratch, align 64
  %total = add i64 %ins, %outs
  %pointers = alloca ptr, i64 %total, align 16
  %objects = alloca ptr, i64 %outs, align 16
  %slots = alloca [2 x i64], i64 %total, align 16
  %right = icmp eq i64 %nargs, %count
  br i1 %right, label %settings, label %failed
settings:
  %asks = icmp ne ptr %quiet.at, null
  br i1 %asks, label %errors, label %in.begin
errors:
  %errors.get = call ptr @word(ptr %api, i64 {context})
  %errors.variable = call ptr @word(ptr %api, i64 {setting})
  %errors.none = call i32 %errors.get(ptr %errors.variable, ptr null, ptr %errors.at)
  %errors.now = load ptr, ptr %errors.at
  %errors.drop = call ptr @word(ptr %api, i64 {decref})
  call void %errors.drop(ptr %errors.now)
  %quiet = load ptr, ptr %quiet.at
  %errors.same = icmp eq ptr %errors.now, %quiet
  br i1 %errors.same, label %in.begin, label %missed
in.begin:
  br label %in.head
in.head:
  %i = phi i64 [ 0, %in.begin ], [ %i.next, %in.good ]
  %i.more = icmp slt i64 %i, %ins
  br i1 %i.more, label %in.body, label %out.head
in.body:
  %object = call ptr @word(ptr %args, i64 %i)
  %in.spec = getelementptr inbounds [{spec_words} x i64], ptr %in.specs, i64 %i
  %in.slot = getelementptr inbounds [2 x i64], ptr %slots, i64 %i
  %data = call ptr @data(ptr %in.spec, ptr %object, ptr %in.slot, ptr %api)
  %is = icmp ne ptr %data, null
  br i1 %is, label %in.good, label %missed
in.good:
  %in.to = getelementptr inbounds ptr, ptr %pointers, i64 %i
  store ptr %data, ptr %in.to
  %i.next = add i64 %i, 1
  br label %in.head
missed:
  %incref.miss = call ptr @word(ptr %api, i64 {incref})
  call void %incref.miss(ptr %miss)
  ret ptr %miss
out.head:
  %k = phi i64 [ 0, %in.head ], [ %k.next, %out.good ]
  %k.more = icmp slt i64 %k, %outs
  br i1 %k.more, label %out.body, label %ready
out.body:
  %out.spec = getelementptr inbounds [{spec_words} x i64], ptr %out.specs, i64 %k
  %out.number = add i64 %ins, %k
  %out.to = getelementptr inbounds ptr, ptr %pointers, i64 %out.number
  %out.slot = getelementptr inbounds [2 x i64], ptr %slots, i64 %out.number
  %made = call i1 @output(ptr %out.spec, i64 %k, ptr %args, ptr %objects, ptr %out.to, ptr %out.slot, ptr %api)
  br i1 %made, label %out.good, label %given.up
out.good:
  %k.next = add i64 %k, 1
  br label %out.head
given.up:
  call void @drop(ptr %objects, i64 %k, ptr %api)
  ret ptr null
ready:
  %on.stack = icmp sgt i64 %scratch, 0
  br i1 %on.stack, label %run, label %block
block:
  %last = sub i64 %count, 1
  %block.is = call ptr @word(ptr %args, i64 %last)
  %block.at = getelementptr inbounds i8, ptr %block.is, i64 {data}
  %block.data = load ptr, ptr %block.at
  %address = ptrtoint ptr %block.data to i64
  %over = add i64 %address, 63
  %aligned = and i64 %over, -64
  %arena.block = inttoptr i64 %aligned to ptr
  br label %run
run:
  %arena = phi ptr [ %stack, %ready ], [ %arena.block, %block ]
  %frees = icmp ne i64 %release, 0
  br i1 %frees, label %free, label %held
held:
  %code.held = call i32 %program(ptr %pointers, ptr %params, ptr %table, ptr %arena, ptr %status)
  br label %done
free:
  %save = call ptr @word(ptr %api, i64 {save})
  %state = call ptr %save()
  %code.free = call i32 %program(ptr %pointers, ptr %params, ptr %table, ptr %arena, ptr %status)
  %restore = call ptr @word(ptr %api, i64 {restore})
  call void %restore(ptr %state)
  br label %done
done:
  %code = phi i32 [ %code.held, %held ], [ %code.free, %free ]
  %good = icmp eq i32 %code, 0
  br i1 %good, label %wrap.head, label %undone
undone:
  call void @drop(ptr %objects, i64 %outs, ptr %api)
  br label %failed
wrap.head:
  %w = phi i64 [ 0, %done ], [ %w.next, %wrap.good ]
  %w.more = icmp slt i64 %w, %outs
  br i1 %w.more, label %wrap.body, label %finished
wrap.body:
  %w.at = getelementptr inbounds ptr, ptr %objects, i64 %w
  %w.object = load ptr, ptr %w.at
  %is.scalar = icmp eq ptr %w.object, null
  br i1 %is.scalar, label %wrap, label %wrap.good
wrap:
  %w.spec = getelementptr inbounds [{spec_words} x i64], ptr %out.specs, i64 %w
  %w.number = add i64 %ins, %w
  %w.slot = getelementptr inbounds [2 x i64], ptr %slots, i64 %w.number
  %number = call ptr @number_of(ptr %w.spec, ptr %w.slot, ptr %api)
  store ptr %number, ptr %w.at
  %wrapped = icmp ne ptr %number, null
  br i1 %wrapped, label %wrap.good, label %unwrapped
unwrapped:
  call void @drop(ptr %objects, i64 %outs, ptr %api)
  ret ptr null
wrap.good:
  %w.next = add i64 %w, 1
  br label %wrap.head
finished:
  %one = icmp ne i64 %single, 0
  br i1 %one, label %bare, label %several
bare:
  %first = load ptr, ptr %objects
  ret ptr %first
several:
  %new = call ptr @word(ptr %api, i64 {tuple})
  %result = call ptr %new(i64 %outs)
  %exists = icmp ne ptr %result, null
  br i1 %exists, label %fill.head, label %unwrapped
fill.head:
  %f = phi i64 [ 0, %several ], [ %f.next, %fill ]
  %f.more = icmp slt i64 %f, %outs
  br i1 %f.more, label %fill, label %filled
fill:
  %item = call ptr @word(ptr %objects, i64 %f)
  %item.at = getelementptr inbounds i8, ptr %result, i64 {items}
  %item.to = getelementptr inbounds ptr, ptr %item.at, i64 %f
  store ptr %item, ptr %item.to
  %f.next = add i64 %f, 1
  br label %fill.head
filled:
  ret ptr %result
failed:
  %why = phi i32 [ {wrong_count}, %0 ], [ %code, %undone ]
  %raised = icmp eq i32 %why, {interrupted}
  br i1 %raised, label %raise, label %tell
raise:
  ret ptr null
tell:
  %why.wide = sext i32 %why to i64
  store i64 %why.wide, ptr %report
  %copy = call ptr @word(ptr %api, i64 {bytes})
  %text = call ptr %copy(ptr %report, i64 {report_bytes})
  %have.text = icmp ne ptr %text, null
  br i1 %have.text, label %call, label %raise
call:
  %apply = call ptr @word(ptr %api, i64 {call})
  %answer = call ptr %apply(ptr %fail, ptr %text)
  %decref.text = call ptr @word(ptr %api, i64 {decref})
  call void %decref.text(ptr %text)
  ret ptr %answer
}}
"""
