"""Imports modules that hold known numbers of bytes, and then holds some itself: the peak is its end."""

import importlib
import importlib.util

# Libraries look whether torch is there before they import it.
assert importlib.util.find_spec("outer") is not None

import outer  # noqa: E402

try:
    import broken  # noqa: F401
except ValueError:
    pass
outer.later()
importlib.import_module("outer.inner.deep")
importlib.import_module("waits")
held = bytearray(7 << 20)
