"""Warnings of the disk cache. Nothing is lost by them but time: what the cache can't give is compiled."""

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
