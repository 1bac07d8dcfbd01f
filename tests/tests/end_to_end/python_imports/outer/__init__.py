"""Holds 8 MiB, imports others, and holds 1 MiB more."""

kept = [bytearray(8 << 20)]

import lone  # noqa: E402, F401
from . import inner  # noqa: E402, F401

kept.append(bytearray(1 << 20))


def later():
    """Called when the import is over."""
    kept.append(bytearray(5 << 20))
