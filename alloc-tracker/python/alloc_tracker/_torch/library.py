"""The library's functions for PyTorch, as ``alloc-tracker/preload/src/torch/api.rs`` has them."""

import ctypes
from types import SimpleNamespace

from .._library import NEW_OBJECT, _function


_VERSION = 9
"""What this package needs. A library of a later version has more functions behind these."""


class _TorchFunctions(ctypes.Structure):
    _fields_ = [
        ("version", ctypes.c_uint32),
        ("begin_trial", _function(ctypes.c_char_p)),
        ("look", _function(None)),
        ("end_round", _function(None, ctypes.c_uint64)),
        ("end_trial", _function(ctypes.c_int)),
        ("layer", _function(ctypes.c_uint32, ctypes.c_char_p)),
        ("enter_layer", _function(ctypes.c_uint64, ctypes.c_uint32)),
        ("leave_layer", _function(None, ctypes.c_uint64)),
        ("label_gradient", _function(None, ctypes.c_uint64, ctypes.c_uint32)),
        ("functions", _function(NEW_OBJECT, ctypes.py_object)),
        ("around", _function(NEW_OBJECT, ctypes.py_object)),
        ("of_tensors", _function(NEW_OBJECT, ctypes.py_object)),
        ("active_layer", _function(ctypes.c_uint32)),
        ("around_function", _function(NEW_OBJECT, ctypes.py_object)),
        ("look_for_gradient", _function(None)),
        ("end_gradient", _function(None, *[ctypes.c_uint64] * 6)),
        ("around_method", _function(NEW_OBJECT, ctypes.c_uint32, ctypes.py_object)),
    ]


def find() -> SimpleNamespace:
    """Each function by its name.

    Raises RuntimeError where the library that was preloaded is older than this package.
    """
    older = "the recorder is older than the Python package alloc_tracker; install both of one version"
    try:
        ask = ctypes.PyDLL(None).alloc_tracker_torch_api
    except AttributeError:
        raise RuntimeError(older) from None
    ask.restype = ctypes.POINTER(_TorchFunctions)
    table = ask().contents
    if table.version < _VERSION:
        raise RuntimeError(older)
    return SimpleNamespace(**{name: getattr(table, name) for name, _ in _TorchFunctions._fields_})
