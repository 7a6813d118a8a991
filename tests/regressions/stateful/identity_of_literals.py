"""Different once: a tuple written in a rewritten function was not the one that Python makes of all equal ones."""


def program():
    global group
    group = [(1.0, 2.0), (1.0, 2.0)]

    def f(u, n, o):
        first = (1.5, 2.5)
        rows = [first, o]
        for at in [o, o]:
            rows[n % 2] = at
            o = ((1.0, 2.0), group)[0]
        found = {"k": first, "m": rows}
        while u > 0.0:
            found = {"k": (1.0, 2.0), "m": group}
            u -= 1.0
        return found, at

    calls = [(2.0, 4, group[0]), (-1.0, 4, group[0]), (1.0, 3, group[1])]

    def state():
        return (group,)

    def before(k):
        pass

    return f, calls, state, before
