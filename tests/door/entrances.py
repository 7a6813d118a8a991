"""Every way in which a value can enter a function: programs that define `f`, `given(v)`, the arguments of a call, and
`put(v)`, which changes what `f` reads. They start with the value `v`, and hand what they read to `look`."""

from __future__ import annotations

import textwrap

#: What is looked at of a value, wherever it comes from.
LOOK = """
def look(x):
    return x, type(x).__name__, isinstance(x, (int, float)), hasattr(x, "shape"), x * 2, x + x, f"{x}", x is None, [x]
"""
_ENTRANCES = {
    "argument": "def f(x): return look(x)\ndef given(v): return (v,)",
    "nested argument": "def f(t): return look(t['a'][0][1])\ndef given(v): return ({'a': [(1, v)]},)",
    "several arguments": "def f(*xs, **ks): return look(xs[1]), look(ks['k'])\n"
    "def given(v): return 1, v, Keywords(k=v)",
    "argument twice": "def f(x, y): return look(x), x is y\ndef given(v): return v, v",
    "object among the arguments": "def f(o): return look(o.v)\ndef given(v): return (Holder(v),)",
    "dataclass among the arguments": "def f(o): return look(o.v)\ndef given(v): return (Point(v),)",
    "bound method among the arguments": "def f(m): return m()\ndef given(v): return (Reader(v).read,)",
    "global": "held = v\ndef f(): return look(held)\ndef put(v):\n    global held\n    held = v",
    "capture": """
        def make(v):
            def f():
                return look(v)
            def put(new):
                nonlocal v
                v = new
            return f, put
        f, put = make(v)
        """,
    "capture of an inner function": """
        def make(v):
            def inner():
                return v
            def f():
                return look(inner())
            def put(new):
                nonlocal v
                v = new
            return f, put
        f, put = make(v)
        """,
    "default": "def f(x=v): return look(x)\nown = f\ndef put(v): own.__defaults__ = (v,)",
    "keyword default": "def f(*, x=v): return look(x)\nown = f\ndef put(v): own.__kwdefaults__ = {'x': v}",
    "attribute": "o = Holder(v)\ndef f(): return look(o.v)\ndef put(v): o.v = v",
    "attribute of an attribute": "o = Holder(Holder(v))\ndef f(): return look(o.v.v)\ndef put(v): o.v = Holder(v)",
    "class attribute": "class C:\n    held = v\ndef f(): return look(C.held)\ndef put(v): C.held = v",
    "inherited attribute": """
        class B:
            held = v
        class C(B):
            pass
        c = C()
        def f(): return look(c.held)
        def put(v): B.held = v
        """,
    "property": "o = Reader(v)\ndef f(): return look(o.seen)\ndef put(v): o.v = v",
    "method": "o = Reader(v)\nf = o.read\ndef put(v): o.v = v",
    "call of an object": "f = Reader(v)\nown = f\ndef put(v): own.v = v",
    "partial": "f = functools.partial(look, v)",
    "partial with keywords": "f = functools.partial(look, x=v)",
    "list": "held = [0, v]\ndef f(): return look(held[1])\ndef put(v): held[1] = v",
    "dict": "held = {'a': v}\ndef f(): return look(held['a'])\ndef put(v): held['a'] = v",
    "tuple": "held = (v, 1)\ndef f(): return look(held[0])\ndef put(v):\n    global held\n    held = v, 1",
    "namespace": "held = types.SimpleNamespace(a=v)\ndef f(): return look(held.a)\ndef put(v): held.a = v",
    "mapping proxy": "own = {'a': v}\nheld = types.MappingProxyType(own)\ndef f(): return look(held['a'])\n"
    "def put(v): own['a'] = v",
    "deque": "held = collections.deque([v])\ndef f(): return look(held[0])\ndef put(v): held[0] = v",
    "function attribute": "def g(): pass\ng.v = v\ndef f(): return look(g.v)\ndef put(v): g.v = v",
    "import": """
        module = sys.modules["door_module"] = types.ModuleType("door_module")
        module.held = v
        def f():
            from door_module import held
            return look(held)
        def put(v): module.held = v
        """,
    "module": """
        module = sys.modules["door_module"] = types.ModuleType("door_module")
        module.held = v
        def f():
            import door_module
            return look(door_module.held)
        def put(v): module.held = v
        """,
    "return of a function": "own = [v]\ndef g(): return own[0]\ndef f(): return look(g())\ndef put(v): own[0] = v",
    "return of a C function": "own = [v]\ng = operator.itemgetter(0)\ndef f(): return look(g(own))\n"
    "def put(v): own[0] = v",
    "return of a method in C": "own = {'a': v}\ng = own.get\ndef f(): return look(g('a'))\ndef put(v): own['a'] = v",
    "generator": "own = [v]\ndef g():\n    yield own[0]\ndef f(): return look(next(g()))\ndef put(v): own[0] = v",
    "context manager": """
        own = [v]
        @contextlib.contextmanager
        def g():
            yield own[0]
        def f():
            with g() as x:
                return look(x)
        def put(v): own[0] = v
        """,
    "context variable": "own = contextvars.ContextVar('own', default=v)\ndef f(): return look(own.get())\n"
    "def put(v): own.set(v)",
    "weak reference": "o = Holder(v)\nr = weakref.ref(o)\ndef f(): return look(r().v)\ndef put(v): o.v = v",
    "cached function": "own = [v]\n@functools.lru_cache\ndef g(): return own[0]\ndef f(): return look(g())\n"
    "def put(v):\n    own[0] = v\n    g.cache_clear()",
    "cached property": """
        class C:
            def __init__(self, v): self.v = v
            @functools.cached_property
            def seen(self): return self.v
        c = C(v)
        def f(): return look(c.seen)
        def put(v):
            global c
            c = C(v)
        """,
    "user dict": "held = collections.UserDict(a=v)\ndef f(): return look(held['a'])\ndef put(v): held['a'] = v",
    "getattr of a class": """
        class C:
            def __getattr__(self, name): return own[0]
        own, c = [v], C()
        def f(): return look(c.anything)
        def put(v): own[0] = v
        """,
    "descriptor": """
        class D:
            def __get__(self, o, cls=None): return own[0]
        class C:
            d = D()
        own, c = [v], C()
        def f(): return look(c.d)
        def put(v): own[0] = v
        """,
}
ENTRANCES = {name: textwrap.dedent(text).strip() for name, text in _ENTRANCES.items()}
