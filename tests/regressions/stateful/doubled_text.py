"""Did not end once: text of one of several types that is added to itself again and again."""


def program():
    def f(v, n):
        v += n * 0.5
        s = "{:.1f} {}".format(-0.25, "{:.1f}".format(v))
        for _ in range(8):
            s += s
        return s, v

    calls = [(-1.0, 0), (-1.5, -2), (-0.75, 2**62), (-2.75, -1)]

    def state():
        return ()

    def before(k):
        pass

    return f, calls, state, before
