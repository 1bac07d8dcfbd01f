"""The arenas in which Python has its small objects: the library names them in the account of the resident set, by the layer or phase in
which Python mapped them. Those that it has mapped before stay mappings without a name."""

import ctypes

from ._library import functions


def _watch() -> None:
    if functions is None:
        return
    try:
        watch = ctypes.PyDLL(None).alloc_tracker_watch_python_arenas
    except AttributeError:
        # The recorder is older than this package.
        return
    watch.restype = ctypes.c_bool
    watch()


# Here, so that it happens once.
_watch()
