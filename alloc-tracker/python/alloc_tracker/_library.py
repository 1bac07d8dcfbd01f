"""The library's table of functions, as ``alloc_tracker.h`` has it."""

import ctypes
import sys
from types import SimpleNamespace
from typing import Any, Optional

_TEXT = ctypes.c_char_p


class Scope(ctypes.Structure):
    """An entered scope. Its content is the library's."""

    _fields_ = [("numbers", ctypes.c_uint64 * 2)]


def _function(result, *arguments):
    # Without releasing the interpreter's lock: none of these functions waits.
    return ctypes.PYFUNCTYPE(result, *arguments)


NEW_OBJECT = ctypes.c_void_p
"""What a function returns that makes an object, for `made`. (Of a ``py_object`` that is null, ctypes up to Python 3.10 counts down the
references.)"""


def made(address: Optional[int]) -> Any:
    """The object that the library has made; None where it can make none in this Python."""
    return None if address is None else ctypes.cast(address, ctypes.py_object).value


class Functions(ctypes.Structure):
    """``alloc_tracker_functions`` of version 1. A later version has more functions at its end."""

    _fields_ = [
        ("version", ctypes.c_uint32),
        ("enter_phase", _function(Scope, _TEXT)),
        ("enter_layer", _function(Scope, _TEXT)),
        ("enter_layer_alone", _function(Scope, _TEXT)),
        ("enter_op", _function(Scope, _TEXT)),
        ("leave", _function(None, Scope)),
        ("label", _function(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32, _TEXT)),
        ("begin_step", _function(None)),
        ("end_step", _function(None)),
        ("mark", _function(None, _TEXT)),
        ("snapshot", _function(None, _TEXT)),
        ("fact", _function(None, _TEXT, _TEXT)),
        # It waits until a file is written.
        ("dump", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("start", ctypes.CFUNCTYPE(ctypes.c_int, _TEXT)),
        ("finish", ctypes.CFUNCTYPE(ctypes.c_int)),
        ("is_recording", _function(ctypes.c_bool)),
    ]


def _find() -> Optional[SimpleNamespace]:
    try:
        ask = ctypes.PyDLL(None).alloc_tracker_api
    except (AttributeError, OSError):
        return None
    ask.restype = ctypes.POINTER(Functions)
    table = ask().contents
    # A field of the table is made into a new object each time that it is asked for.
    return SimpleNamespace(**{name: getattr(table, name) for name, _ in Functions._fields_})


functions: Optional[SimpleNamespace] = _find()
"""Each function of the table by its name; None where the library was not preloaded."""


HAS_BUILTINS = sys.implementation.name == "cpython" and "t" not in sys.abiflags
"""Whether the library may make functions of Python's own kind. Without the interpreter's lock, Python's objects look different, and the
library would need locks."""


def text(name: str) -> bytes:
    """A name as C has it. What no C string can hold is replaced."""
    return name.encode("utf-8", "replace").replace(b"\0", b"?")
