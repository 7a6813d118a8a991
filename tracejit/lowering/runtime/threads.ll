; The pool of threads: see threads.py, which puts numbers in the places of names with a dollar sign.
;
; @gate is the one word that says whether the job may be joined and how many have: who has joined may read the
; job's fields, and the caller leaves when the gate is shut and nobody is in. Sleepers and wakers each write
; their word before they read the other's, in one total order, so that no call to wake up is lost.

@functions = internal constant [5 x ptr] [ptr @run, ptr @look, ptr @reset, ptr @close, ptr @hired]
@lock = internal global [16 x i64] zeroinitializer, align 64
@work.there = internal global [16 x i64] zeroinitializer, align 64
@all.done = internal global [16 x i64] zeroinitializer, align 64
@blocked.signals = internal constant [16 x i64] [i64 ${blocked}, ${ones}]

@no.details = internal constant [${words} x i64] zeroinitializer

@count = internal global ptr null
@check = internal global ptr null
@busy = internal global i64 0, align 64
@closing = internal global i64 0
@alive = internal global i64 0
@limit = internal global i64 0
@fn = internal global ptr null
@frame = internal global ptr null
@start = internal global i64 0
@stop = internal global i64 0
@chunk = internal global i64 0
@chunks = internal global i64 0
@status = internal global ptr null
@code = internal global i32 0
@epoch = internal global i64 0, align 64
@gate = internal global i64 0, align 64
@next = internal global i64 0, align 64
@failed = internal global i64 0, align 64
@sleepers = internal global i64 0, align 64
@waiting = internal global i64 0, align 64

declare i32 @pthread_create(ptr, ptr, ptr, ptr)
declare i32 @pthread_detach(ptr)
declare i32 @pthread_sigmask(i32, ptr, ptr)
declare i32 @pthread_mutex_init(ptr, ptr)
declare i32 @pthread_mutex_lock(ptr)
declare i32 @pthread_mutex_unlock(ptr)
declare i32 @pthread_cond_init(ptr, ptr)
declare i32 @pthread_cond_wait(ptr, ptr)
declare i32 @pthread_cond_timedwait(ptr, ptr, ptr)
declare i32 @pthread_cond_signal(ptr)
declare i32 @pthread_cond_broadcast(ptr)
declare i32 @clock_gettime(i32, ptr)
declare i32 @usleep(i32)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
${pause_declaration}

define ptr @entry(ptr %count, ptr %check) nounwind {
  store ptr %count, ptr @count
  store ptr %check, ptr @check
  ret ptr @functions
}

define internal i32 @signals() nounwind {
  %check = load ptr, ptr @check
  %code = call i32 %check()
  ret i32 %code
}

define internal i64 @hired() nounwind {
  %alive = load atomic i64, ptr @alive monotonic, align 8
  ret i64 %alive
}

define internal i32 @run(ptr %fn, ptr %frame, i64 %start, i64 %stop, i64 %grain, ptr %status) nounwind {
  %n = sub i64 %stop, %start
  %some = icmp sgt i64 %n, 0
  br i1 %some, label %ask, label %nothing
nothing:
  ret i32 0
ask:
  %count = load ptr, ptr @count
  %threads = load atomic i64, ptr %count monotonic, align 8
  %many = icmp sgt i64 %threads, 1
  %half = sdiv i64 %n, 2
  %long = icmp sge i64 %half, %grain
  %worth = and i1 %many, %long
  br i1 %worth, label %claim, label %alone
alone:
  %code.alone = call i32 %fn(ptr %frame, i64 %start, i64 %stop, ptr %status, i64 0)
  ret i32 %code.alone
claim:
  %pair = cmpxchg ptr @busy, i64 0, i64 1 acquire monotonic
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %divide, label %alone
divide:
  %parts = mul i64 %threads, ${parts}
  %fair = sdiv i64 %n, %parts
  %least = call i64 @llvm.smax.i64(i64 %fair, i64 %grain)
  %unit = call i64 @llvm.smin.i64(i64 %grain, i64 ${unit})
  %mask = sub i64 %unit, 1
  %up = add i64 %least, %mask
  %down = xor i64 %mask, -1
  %chunk = and i64 %up, %down
  %over = add i64 %n, %chunk
  %over.less = sub i64 %over, 1
  %chunks = sdiv i64 %over.less, %chunk
  %others = sub i64 %threads, 1
  %useful = sub i64 %chunks, 1
  %limit = call i64 @llvm.smin.i64(i64 %others, i64 %useful)
  call void @hire(i64 %limit)
  store atomic i64 %limit, ptr @limit monotonic, align 8
  store ptr %fn, ptr @fn
  store ptr %frame, ptr @frame
  store i64 %start, ptr @start
  store i64 %stop, ptr @stop
  store i64 %chunk, ptr @chunk
  store atomic i64 %chunks, ptr @chunks monotonic, align 8
  store ptr %status, ptr @status
  store i32 0, ptr @code
  store atomic i64 0, ptr @next monotonic, align 8
  store atomic i64 ${never}, ptr @failed monotonic, align 8
  store atomic i64 ${open}, ptr @gate release, align 8
  %old = atomicrmw add ptr @epoch, i64 1 seq_cst
  %asleep = load atomic i64, ptr @sleepers seq_cst, align 8
  %wake = icmp sgt i64 %asleep, 0
  br i1 %wake, label %call, label %begin
call:
  call void @wake(i64 %limit)
  br label %begin
begin:
  call void @work(i64 ${caller})
  %shut = atomicrmw and ptr @gate, i64 ${shut} seq_cst
  call void @await()
  %code = load i32, ptr @code
  store atomic i64 0, ptr @busy release, align 8
  ret i32 %code
}

define internal void @hire(i64 %limit) nounwind {
  %id = alloca i64
  %before = alloca [16 x i64]
  br label %count
count:
  %alive = load atomic i64, ptr @alive monotonic, align 8
  %closing = load atomic i64, ptr @closing monotonic, align 8
  %few = icmp slt i64 %alive, %limit
  %open = icmp eq i64 %closing, 0
  %more = and i1 %few, %open
  br i1 %more, label %create, label %enough
create:
  %s1 = call i32 @pthread_sigmask(i32 ${setmask}, ptr @blocked.signals, ptr %before)
  %made = call i32 @pthread_create(ptr %id, ptr null, ptr @worker, ptr null)
  %s2 = call i32 @pthread_sigmask(i32 ${setmask}, ptr %before, ptr null)
  %good = icmp eq i32 %made, 0
  br i1 %good, label %keep, label %enough
keep:
  %name = load ptr, ptr %id
  %d = call i32 @pthread_detach(ptr %name)
  %c = atomicrmw add ptr @alive, i64 1 seq_cst
  br label %count
enough:
  ret void
}

define internal void @wake(i64 %limit) nounwind {
  %l = call i32 @pthread_mutex_lock(ptr @lock)
  %alive = load atomic i64, ptr @alive monotonic, align 8
  %all = icmp sge i64 %limit, %alive
  br i1 %all, label %everyone, label %some
everyone:
  %b = call i32 @pthread_cond_broadcast(ptr @work.there)
  br label %out
some:
  %k = phi i64 [ 0, %0 ], [ %k.next, %some ]
  %s = call i32 @pthread_cond_signal(ptr @work.there)
  %k.next = add i64 %k, 1
  %enough = icmp sge i64 %k.next, %limit
  br i1 %enough, label %out, label %some
out:
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  ret void
}

define internal ptr @worker(ptr %unused) nounwind {
  br label %idle
idle:
  %seen = phi i64 [ -1, %0 ], [ %now, %again ]
  br label %spin
spin:
  %k = phi i64 [ 0, %idle ], [ %k.next, %spun ]
  %e = load atomic i64, ptr @epoch acquire, align 8
  %fresh = icmp ne i64 %e, %seen
  br i1 %fresh, label %try, label %spun
spun:
  ${pause}
  %k.next = add i64 %k, 1
  %tired = icmp uge i64 %k.next, ${spins}
  br i1 %tired, label %sleep, label %spin
sleep:
  %l = call i32 @pthread_mutex_lock(ptr @lock)
  %s.in = atomicrmw add ptr @sleepers, i64 1 seq_cst
  br label %check
check:
  %e2 = load atomic i64, ptr @epoch seq_cst, align 8
  %closing = load atomic i64, ptr @closing seq_cst, align 8
  %fresh2 = icmp ne i64 %e2, %seen
  %going = icmp ne i64 %closing, 0
  %up = or i1 %fresh2, %going
  br i1 %up, label %awake, label %doze
doze:
  %w = call i32 @pthread_cond_wait(ptr @work.there, ptr @lock)
  br label %check
awake:
  %s.out = atomicrmw sub ptr @sleepers, i64 1 seq_cst
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  br label %try
try:
  %now = load atomic i64, ptr @epoch acquire, align 8
  %closing2 = load atomic i64, ptr @closing acquire, align 8
  %leave = icmp ne i64 %closing2, 0
  br i1 %leave, label %gone, label %knock
knock:
  %taken = load atomic i64, ptr @next monotonic, align 8
  %all = load atomic i64, ptr @chunks monotonic, align 8
  %late = icmp sge i64 %taken, %all
  br i1 %late, label %again, label %nearer
nearer:
  %g = load atomic i64, ptr @gate acquire, align 8
  br label %join
join:
  %g.now = phi i64 [ %g, %nearer ], [ %g.seen, %enter ]
  %limit = load atomic i64, ptr @limit monotonic, align 8
  %is.open = icmp uge i64 %g.now, ${open}
  %inside = and i64 %g.now, ${below}
  %room = icmp slt i64 %inside, %limit
  %may = and i1 %is.open, %room
  br i1 %may, label %enter, label %again
enter:
  %g.more = add i64 %g.now, 1
  %pair = cmpxchg ptr @gate, i64 %g.now, i64 %g.more acq_rel acquire
  %g.seen = extractvalue { i64, i1 } %pair, 0
  %in = extractvalue { i64, i1 } %pair, 1
  br i1 %in, label %do, label %join
do:
  call void @work(i64 ${worker})
  %g.old = atomicrmw sub ptr @gate, i64 1 seq_cst
  %last = icmp eq i64 %g.old, 1
  br i1 %last, label %tell, label %again
tell:
  %waited = load atomic i64, ptr @waiting seq_cst, align 8
  %someone = icmp ne i64 %waited, 0
  br i1 %someone, label %signal, label %again
signal:
  %l3 = call i32 @pthread_mutex_lock(ptr @lock)
  %b3 = call i32 @pthread_cond_broadcast(ptr @all.done)
  %u3 = call i32 @pthread_mutex_unlock(ptr @lock)
  br label %again
again:
  br label %idle
gone:
  %c = atomicrmw sub ptr @alive, i64 1 seq_cst
  ret ptr null
}

define internal void @work(i64 %kind) nounwind {
  %details = alloca [${words} x i64], align 16
  %fn = load ptr, ptr @fn
  %frame = load ptr, ptr @frame
  %start = load i64, ptr @start
  %stop = load i64, ptr @stop
  %chunk = load i64, ptr @chunk
  %chunks = load i64, ptr @chunks
  br label %claim
claim:
  %i = atomicrmw add ptr @next, i64 1 monotonic
  %failed = load atomic i64, ptr @failed monotonic, align 8
  %exists = icmp slt i64 %i, %chunks
  %wanted = icmp slt i64 %i, %failed
  %go = and i1 %exists, %wanted
  br i1 %go, label %one, label %out
one:
  %before = mul i64 %i, %chunk
  %first = add i64 %start, %before
  %end = add i64 %first, %chunk
  %last = call i64 @llvm.smin.i64(i64 %end, i64 %stop)
  %number = shl i64 %i, 2
  %who = or i64 %number, %kind
  %code = call i32 %fn(ptr %frame, i64 %first, i64 %last, ptr %details, i64 %who)
  switch i32 %code, label %fail [
    i32 0, label %claim
    i32 ${stopped}, label %out
  ]
fail:
  %interrupted = icmp eq i32 %code, ${interrupted}
  %where = select i1 %interrupted, i64 -1, i64 %i
  call void @record(i64 %where, i32 %code, ptr %details)
  br label %out
out:
  ret void
}

define internal void @record(i64 %where, i32 %code, ptr %details) nounwind {
  %l = call i32 @pthread_mutex_lock(ptr @lock)
  %failed = load atomic i64, ptr @failed monotonic, align 8
  %first = icmp slt i64 %where, %failed
  br i1 %first, label %keep, label %out
keep:
  store atomic i64 %where, ptr @failed monotonic, align 8
  store i32 %code, ptr @code
  %status = load ptr, ptr @status
  call void @llvm.memcpy.p0.p0.i64(ptr %status, ptr %details, i64 ${bytes}, i1 false)
  br label %out
out:
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  ret void
}

define internal void @await() nounwind {
  %time = alloca [2 x i64]
  %seconds = getelementptr i64, ptr %time, i64 0
  %nanoseconds = getelementptr i64, ptr %time, i64 1
  br label %spin
spin:
  %k = phi i64 [ 0, %0 ], [ %k.next, %spun ]
  %g = load atomic i64, ptr @gate acquire, align 8
  %empty = icmp eq i64 %g, 0
  br i1 %empty, label %out, label %spun
spun:
  ${pause}
  %k.next = add i64 %k, 1
  %tired = icmp uge i64 %k.next, ${spins}
  br i1 %tired, label %sleep, label %spin
sleep:
  %l = call i32 @pthread_mutex_lock(ptr @lock)
  store atomic i64 1, ptr @waiting seq_cst, align 8
  %g1 = load atomic i64, ptr @gate seq_cst, align 8
  %empty1 = icmp eq i64 %g1, 0
  br i1 %empty1, label %up, label %doze
doze:
  %t = call i32 @clock_gettime(i32 0, ptr %time)
  %ns = load i64, ptr %nanoseconds
  %ns.later = add i64 %ns, ${wait}
  %carry = icmp uge i64 %ns.later, 1000000000
  %ns.rest = sub i64 %ns.later, 1000000000
  %ns.end = select i1 %carry, i64 %ns.rest, i64 %ns.later
  store i64 %ns.end, ptr %nanoseconds
  %s = load i64, ptr %seconds
  %one = zext i1 %carry to i64
  %s.end = add i64 %s, %one
  store i64 %s.end, ptr %seconds
  %w = call i32 @pthread_cond_timedwait(ptr @all.done, ptr @lock, ptr %time)
  br label %up
up:
  store atomic i64 0, ptr @waiting seq_cst, align 8
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  %g2 = load atomic i64, ptr @gate acquire, align 8
  %empty2 = icmp eq i64 %g2, 0
  br i1 %empty2, label %out, label %signals
signals:
  %code = load i32, ptr @code
  %raised = icmp eq i32 %code, ${interrupted}
  br i1 %raised, label %sleep, label %ask
ask:
  %now = call i32 @signals()
  %quiet = icmp eq i32 %now, 0
  br i1 %quiet, label %sleep, label %give
give:
  call void @record(i64 -1, i32 %now, ptr @no.details)
  br label %sleep
out:
  ret void
}

define internal i32 @look(i64 %who) nounwind {
  %kind = and i64 %who, 3
  %shared = icmp ne i64 %kind, 0
  br i1 %shared, label %others, label %ask
others:
  %number = lshr i64 %who, 2
  %failed = load atomic i64, ptr @failed monotonic, align 8
  %on = icmp slt i64 %number, %failed
  br i1 %on, label %whose, label %stop
stop:
  ret i32 ${stopped}
whose:
  %is.worker = icmp eq i64 %kind, ${worker}
  br i1 %is.worker, label %fine, label %ask
fine:
  ret i32 0
ask:
  %code = call i32 @signals()
  ret i32 %code
}

define internal void @reset() nounwind {
  %m = call i32 @pthread_mutex_init(ptr @lock, ptr null)
  %c1 = call i32 @pthread_cond_init(ptr @work.there, ptr null)
  %c2 = call i32 @pthread_cond_init(ptr @all.done, ptr null)
  store i64 0, ptr @alive
  store i64 0, ptr @closing
  store i64 0, ptr @gate
  store i64 0, ptr @sleepers
  store i64 0, ptr @waiting
  store i64 -1, ptr @failed
  store i32 ${forked}, ptr @code
  store atomic i64 0, ptr @busy release, align 8
  ret void
}

define internal void @close() nounwind {
  store atomic i64 1, ptr @closing seq_cst, align 8
  %l = call i32 @pthread_mutex_lock(ptr @lock)
  %b = call i32 @pthread_cond_broadcast(ptr @work.there)
  %u = call i32 @pthread_mutex_unlock(ptr @lock)
  br label %wait
wait:
  %k = phi i64 [ 0, %0 ], [ %k.next, %later ]
  %alive = load atomic i64, ptr @alive seq_cst, align 8
  %gone = icmp sle i64 %alive, 0
  %late = icmp uge i64 %k, ${patience}
  %end = or i1 %gone, %late
  br i1 %end, label %out, label %later
later:
  %z = call i32 @usleep(i32 500)
  %k.next = add i64 %k, 1
  br label %wait
out:
  ret void
}
