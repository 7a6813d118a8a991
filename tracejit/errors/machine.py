"""What is said about machine code: warnings of the disk cache, by which nothing is lost but time (what the cache can't
give is compiled), and errors of functions that C, SciPy's C code and Numba call."""

from __future__ import annotations

from tracejit.errors.base import TracejitError


class CacheWarning(TracejitError, UserWarning):
    """Base of these: `warnings.simplefilter("ignore", tj.errors.CacheWarning)` silences them."""


class CacheEntryWarning(CacheWarning):
    """A file in the cache is not what was written there: it is damaged, cut off, or somebody else's. It is not
    used; its machine code is compiled again and takes the file's place. Told once a process."""

    code = "TJ190"
    cause = "the cached machine code {path} is not used: {problem}."
    remedies = (
        "nothing has to be done: it is compiled again, and replaced",
        "`python -m tracejit cache verify` removes all damaged files; if they come back, the disk is at fault",
    )
    example = """
        import pathlib, tempfile, warnings
        import numpy as np, tracejit as tj
        warnings.simplefilter("error")

        with tempfile.TemporaryDirectory() as folder, tj.config.override(cache=folder):
            f = tj.jit(lambda x: np.sin(x) + 0.190)
            f(np.ones(3))
            for path in pathlib.Path(folder).iterdir():
                path.write_bytes(path.read_bytes()[:-1])
            tj.clear_caches()  # as in a new process
            f(np.ones(3))
    """


class CacheFolderWarning(CacheWarning):
    """The folder of the cache is not used, since others could have put machine code there, or since there can be
    none of that name. Functions are compiled as if there were no cache. Told once a process."""

    code = "TJ191"
    cause = "the cache folder {path} is not used: {problem}."
    remedies = (
        "make it yours alone: `chmod 700` and `chown`",
        "choose another: TRACEJIT_CACHE=/a/folder, or `tj.config.cache`",
        "do without: TRACEJIT_CACHE=off",
    )
    example = """
        import os, tempfile, warnings
        import numpy as np, tracejit as tj
        warnings.simplefilter("error")

        with tempfile.TemporaryDirectory() as folder, tj.config.override(cache=folder):
            os.chmod(folder, 0o777)
            tj.jit(lambda x: np.sin(x) + 0.191)(np.ones(3))
    """


class CacheWriteWarning(CacheWarning):
    """Machine code could not be kept: the folder is read-only, or the disk is full. Functions work, and are compiled
    again in the next process. Told once a process."""

    code = "TJ192"
    cause = "compiled functions can't be kept in {path}: {problem}."
    remedies = (
        "make room, or give the right to write",
        "only read what is there: TRACEJIT_CACHE=ro",
        "choose another folder: TRACEJIT_CACHE=/a/folder; or none: TRACEJIT_CACHE=off",
    )
    example = """
        import pathlib, tempfile, warnings
        import numpy as np, tracejit as tj
        warnings.simplefilter("error")

        with tempfile.TemporaryDirectory() as folder, tj.config.override(cache=folder + "/link"):
            pathlib.Path(folder, "link").symlink_to("there/is/none")
            tj.jit(lambda x: np.sin(x) + 0.192)(np.ones(3))
    """


class ForeignFunctionError(TracejitError, TypeError):
    """A function that can't be called without Python: it keeps state, prints, makes text, calls back, or the shapes of
    its results are known only at its end. C and Numba get machine code alone, without Python to fall back to."""

    code = "TJ230"
    cause = "{function} can't be called from {caller}: {problem}."
    remedies = (
        "{remedy}",
        "call it from Python",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: f"{x.sum()}").lower(np.ones(3)).compile().address
    """


class CDeclarationError(TracejitError, ValueError):
    """A declaration of a C function that can't be read, or that does not fit to what was compiled."""

    code = "TJ231"
    cause = "`{declaration}` does not declare this function: {problem}."
    remedies = (
        'write it like "double f(double x, double y)" or "int f(double *buffer, intptr_t size, double *result)"; '
        "docs/numba.md has the rules",
        "lower the function for the types that C gives: `jit(f).lower(np.float64(0), np.zeros(9))`",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.jit(lambda x: x + 1.0).lower(1.0).compile().cfunc("double f(double x, double y)")
    """


class ForeignArgumentError(TracejitError, ValueError):
    """A call from C or Numba with what the machine code is not made for: a length that differs, or memory that is
    written and belongs to two arguments, which Python would have to do."""

    code = "TJ232"
    cause = "{function} can't be called so: {problem}."
    remedies = (
        "lower the function for arrays of this size",
        "give it arrays that do not share memory: `x.copy()`",
    )
    example = """
        import ctypes, numpy as np, tracejit as tj
        f = tj.jit(lambda x: x.sum()).lower(np.ones(3)).compile().cfunc("double f(int n, double *x)")
        f(2, np.ones(2).ctypes.data_as(ctypes.POINTER(ctypes.c_double)))
    """


class NumbaResultError(TracejitError, TypeError):
    """Numba types a call before any shape is known: tracejit finds the ranks and dtypes of the results by tracing the
    function for made-up shapes, unless it has been called before. Here it works for none of them; or what it gives
    depends on the shapes in more than their sizes."""

    code = "TJ233"
    cause = "what {function} gives is not known before it is called from Numba: {problem}."
    remedies = (
        "call it once from Python, with arrays of shapes that fit, before the function that calls it is compiled",
        "let it give as many results, of the same ranks and dtypes, for all shapes",
    )
    example = """
        import numba, numpy as np, tracejit as tj
        f = tj.jit(lambda x: x.reshape(7, 11))

        @numba.njit
        def g(x):
            return f(x)

        g(np.ones(77))
    """


class NumbaArgumentError(TracejitError, TypeError):
    """A function that Numba compiles calls a jitted one with what has no traced counterpart (lists, strings, records,
    functions), or not as its signature says."""

    code = "TJ234"
    cause = "{function} can't be called from Numba so: {problem}."
    remedies = (
        "give it arrays, numbers, None, and tuples of them",
        "bind other arguments before: `tj.jit(functools.partial(f, mode='fast'))`",
    )
    example = """
        import numba, numpy as np, tracejit as tj
        f = tj.jit(lambda x, mode: x + 1 if mode == "up" else x - 1)

        @numba.njit
        def g(x):
            return f(x, "up")

        g(np.ones(3))
    """


class ExportRefusedError(TracejitError, TypeError):
    """A function whose program can't leave the process: it keeps state, prints, calls back into Python, draws from a
    generator, or takes or gives objects that only this process has. A file has machine code, arrays and text alone."""

    code = "TJ240"
    cause = "{function} can't be exported: {problem}."
    remedies = ("{remedy}",)
    example = """
        import numpy as np, tracejit as tj
        tj.export(lambda x: print(x))(np.ones(3))
    """


class ExportedSizeError(TracejitError, TypeError):
    """A size that is a name, where it must be a number. A program that is exported for named sizes is one for all of
    them, so that no decision of the function may depend on what they are: neither a shape of other arrays that must be
    known, nor a loop that is unrolled, nor a routine that takes known sizes only."""

    code = "TJ241"
    cause = "{problem}."
    remedies = (
        "export the function for each size that is needed: `tj.export(f)(tj.ShapeDtypeStruct((1000, 3), float))`",
        "export it for the largest size, with the number of elements that count as another argument, and mask the rest",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.export(lambda x: [x[i] for i in range(len(x))])(tj.ShapeDtypeStruct(("n",), np.float64))
    """


class ExportedFileError(TracejitError, ValueError):
    """A file that `load_exported` does not load: somebody else's, cut off, changed after it was written, of another
    version of the format, or for another kind of processor. Nothing of it is executed."""

    code = "TJ242"
    cause = "{path} is not loaded: {problem}."
    remedies = (
        "write it again: `tj.export(f)(*arguments).save(path)`",
        "if it was copied, compare it with the original",
    )
    example = """
        import pathlib, tempfile
        import numpy as np, tracejit as tj

        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "sine.tj")
            tj.export(np.sin)(1.0).save(path)
            path.write_bytes(path.read_bytes()[:-1])
            tj.load_exported(path)
    """


class ExportedArgumentError(TracejitError, TypeError):
    """A call of an exported program with what it is not made for: another shape, dtype, structure or kind of number.
    There is no function that could be traced again."""

    code = "TJ243"
    cause = "{function} was exported for other arguments: {problem}."
    remedies = (
        "convert the argument: `np.asarray(x, dtype)`, `float(x)`, `np.ascontiguousarray(x)`",
        "export the function for these arguments as well",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.export(np.sin)(np.ones(3))(np.ones(4))
    """


class LibraryBuildError(TracejitError, RuntimeError):
    """A C library that can't be made: the program calls routines that only Python's libraries have, there is no
    compiler that links, or it says that something is missing."""

    code = "TJ244"
    cause = "the library {path} can't be made: {problem}."
    remedies = (
        "an object file needs no compiler: `write_library('model.o')`",
        "install a C compiler (cc, gcc or clang), or `pip install ziglang`; CC in the environment names another one",
        "name what it is to be linked with: `libraries=['openblas']`",
    )
    example = """
        import numpy as np, tracejit as tj
        tj.export(np.sort)(np.ones(100)).write_library("sorted.o")
    """


class NotPrintableError(TracejitError, ValueError):
    """A program has no form as a file for Numba, since it calls what only a process of tracejit's has: functions of
    the user's that Python runs, random generators, or operations without native code."""

    code = "TJ238"
    cause = "{function} can't be printed for Numba: it has {problem}."
    remedies = (
        'use the default backend, `tj.jit(f)`, or print another stage, such as `as_text("loops")`',
        "leave what can't be printed to the caller: print functions of what comes before and after it",
    )
    example = """
        import numpy as np, tracejit as tj
        f = tj.jit(lambda x: tj.pure_callback(np.sort, x, x))
        f.lower(np.ones(3)).compile().as_text("numba")
    """


class BackendError(TracejitError, ValueError):
    """A backend is what makes machine code of a traced program: tracejit by LLVM, or Numba from a printed file."""

    code = "TJ239"
    cause = "there is no backend {backend!r}: there are 'llvm' and 'numba'."
    remedies = ('leave `backend` out for the default, "llvm"',)
    example = """
        import numpy as np, tracejit as tj
        tj.jit(np.sin, backend="cuda")
    """

    @classmethod
    def check(cls, backend: str) -> None:
        """Raise it unless there is such a backend."""
        if backend not in ("llvm", "numba"):
            raise cls(backend=backend)


class PictureFormatError(TracejitError, ValueError):
    """The end of a file's name says in which format a picture is written."""

    code = "TJ270"
    cause = "a picture can't be saved as {path!r}: the name's end is none of {formats}."
    remedies = ("end the name with one of these",)
    example = """
        import numpy as np, tracejit as tj
        tj.draw(np.sin)(1.0).save("program.bmp")
    """


class PictureLibraryError(TracejitError, ImportError):
    """Most formats are written by tracejit itself. PNG and ONNX are left to libraries that need not be installed."""

    code = "TJ271"
    cause = "a picture can't be saved as .{format}, since {library} is not installed."
    remedies = (
        'pip install "tracejit[pictures]", or {library} alone',
        "save an .svg or .html file, which need no library",
    )
    example = """
        from tracejit.errors import PictureLibraryError
        raise PictureLibraryError(format="png", library="resvg-py")
    """


class PictureProgramError(TracejitError, ValueError):
    """A picture is of a program. A function that Python runs has none."""

    code = "TJ273"
    cause = "there is no picture of {function}, since Python runs it: {reason}"
    remedies = ("change what the reason names",)
    example = """
        import tracejit as tj
        with tj.config.override(fallback=True):
            tj.explain(lambda x: open("log.txt", "a").write(f"{x}"))(1.0).draw()
    """


class PictureStageError(TracejitError, ValueError):
    """A picture shows a program at one stage on its way to machine code."""

    code = "TJ272"
    cause = "this program has no stage {stage!r}: it has {stages}."
    remedies = ("choose one of these: `stages` of a picture lists them",)
    example = """
        import numpy as np, tracejit as tj
        tj.draw(np.sin, stage="optimised")(1.0)
    """


class TreeFileError(TracejitError, ValueError):
    """A file holds arrays by name, and no code. What is damaged, or other than expected, is not loaded in part."""

    code = "TJ280"
    cause = "{path!r}: {problem}."
    remedies = (
        "tree.load(path) without a second argument gives all arrays of a file by their names",
        "load what tree.save has written, into a tree of the same structure, shapes and dtypes",
    )
    example = """
        import pathlib, tempfile
        from tracejit import tree
        path = pathlib.Path(tempfile.mkdtemp()) / "weights.safetensors"
        path.write_bytes(b"no weights")
        tree.load(path)
    """
