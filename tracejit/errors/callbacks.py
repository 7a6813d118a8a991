"""Errors of callbacks and of the debugging tools."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class CallbackResultError(TracejitError, TypeError, ValueError):
    """A callback returned something else than `result_shape_dtypes` says.

    Compiled code has memory for exactly the arrays that were announced.
    """

    code = "TJ123"
    cause = "{op}: {callback} returned {path} as {actual} where {expected} was announced."
    remedies = (
        "return what result_shape_dtypes says, converted if need be: np.asarray(y, dtype)",
        "announce what the callback returns: tj.ShapeDtypeStruct(shape, dtype)",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.pure_callback(lambda x: x[:2], tj.ShapeDtypeStruct((3,), float), np.ones(3))
    """


class CallbackBatchError(TracejitError, ValueError, NotImplementedError):
    """A callback was mapped by vmap, and nothing says how."""

    code = "TJ124"
    cause = "{op} of {callback} cannot be mapped by vmap: {problem}."
    remedies = (
        "pure_callback(..., vmap_method='sequential') calls it once a lane",
        "vmap_method='expand_dims' or 'broadcast_all' calls it once, with a leading axis",
        "io_callback(..., ordered=False) calls it once a lane",
    )
    example = """
        import numpy as np, tracejit as tj
        out = tj.ShapeDtypeStruct((), float)
        tj.vmap(lambda x: tj.pure_callback(np.sin, out, x))(np.ones(3))
    """


class DebugFormatError(TracejitError, ValueError):
    """The format string of `debug.print` and its arguments do not fit each other."""

    code = "TJ125"
    cause = "debug.print({fmt!r}): {problem}."
    remedies = (
        "give one argument for each pair of braces: debug.print('x = {{x}}', x=x)",
        "write the braces, not an f-string: it would format the traced value while tracing",
    )
    example = """
        import tracejit as tj
        tj.debug.print("x = {x}", 1.0)
    """


class RepeatedEffectError(TracejitError, NotImplementedError):
    """An effect would have to happen more often than the program says, which it never does."""

    code = "TJ126"
    limit = True
    cause = "{op}: {problem}."
    remedies = (
        "use scan or fori_loop, which keep what a callback gave, for the inner loop",
        "move the callback out of the loop",
    )
    example = """
        import numpy as np, tracejit as tj
        out = tj.ShapeDtypeStruct((), float)

        def f(x):
            step = lambda y: y * tj.io_callback(lambda: 2.0, out)
            loop = lambda y, _: (tj.lax.while_loop(lambda y: y < 9.0, step, y), None)
            return tj.lax.scan(loop, x, length=2)[0]

        tj.grad(f)(1.0)
    """


class NonFiniteError(TracejitError, FloatingPointError):
    """With `config.debug_nans` or `debug_infs`, an operation gave a NaN or an infinity."""

    code = "TJ127"
    cause = "`{op}` gave {found}. {operands}"
    remedies = (
        "look at the operands above; a NaN among them came from outside",
        "turn the check off: tj.config.update('debug_nans', False)",
    )
    example = """
        import numpy as np, tracejit as tj
        with tj.config.override(debug_nans=True):
            tj.jit(lambda x: np.log(x))(-1.0)
    """


class TracerLeakError(TracejitError, RuntimeError):
    """With `config.check_tracer_leaks`, a traced value was still held when its trace had ended."""

    code = "TJ128"
    cause = "{function} leaks {count} of its traced values: {leaks}."
    remedies = ("return the value instead of storing it", "store a plain value: with debug.callback")
    example = """
        import numpy as np, tracejit as tj
        kept = []

        with tj.checking_leaks():
            tj.vmap(lambda x: kept.append(x * 2) or np.sum(x))(np.ones((2, 3)))
    """


class UnknownSettingError(TracejitError, AttributeError):
    """There is no setting of that name."""

    code = "TJ129"
    cause = "tracejit.config has no setting {name!r}; it has {known}."
    remedies = ("choose one of them",)
    example = """
        import tracejit as tj
        tj.config.update("debug_nan", True)
    """


class SettingValueError(TracejitError, ValueError, TypeError):
    """A setting was given a value of the wrong type or out of its range."""

    code = "TJ150"
    cause = "tracejit.config.{name} is {wanted}, not {value!r}."
    remedies = ("give a value of that kind",)
    example = """
        import tracejit as tj
        tj.config.update("debug", "loud")
    """


class CallbackArgumentError(TracejitError, TypeError, ValueError):
    """A callback was asked for in a way that makes no sense."""

    code = "TJ151"
    cause = "{op}: {problem}."
    remedies = ("result_shape_dtypes is a tree of tj.ShapeDtypeStruct (or of arrays)",)
    example = """
        import numpy as np, tracejit as tj
        tj.pure_callback(np.sin, "float64", 1.0)
    """


class ForkedCallError(TracejitError, RuntimeError):
    """A signal handler forked the process in the middle of a compiled loop, and the child went on.

    Threads share large loops, and a child has only one of them: its copy of the call cannot end. The
    parent's call goes on as if nothing had happened.
    """

    code = "TJ195"
    cause = "this process was forked by a signal handler while threads shared a loop of the call."
    remedies = (
        "end the child in the handler: os._exit, or one of the os.exec functions",
        "let the handler set a flag, and fork after the call",
        "tj.config.num_threads = 1 in programs whose handlers fork",
    )


class ProfileUseError(TracejitError, RuntimeError):
    """A profile records one block: it is begun by `with`, once, and has nothing to show before."""

    code = "TJ262"
    cause = "this profile can't do that: {problem}."
    remedies = ("`with tj.profile() as p:` makes a profile and records the block",)
    example = """
        import tracejit as tj
        tj.profile().table()
    """


class ProfileSuffixError(TracejitError, ValueError):
    """The name of a file says what a profile, or a picture of one, is written as."""

    code = "TJ263"
    cause = "there is no form of a {what} for a file called {path!r}: there are {forms}."
    remedies = ("give the file one of these endings",)
    example = """
        import tracejit as tj
        with tj.profile() as p:
            pass
        p.save("profile.pdf")
    """
