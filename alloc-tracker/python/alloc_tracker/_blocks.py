"""What a block is for."""

import ctypes
import sys
from enum import IntEnum
from typing import Any, Optional

from ._library import functions, text


class Category(IntEnum):
    """What a block is for."""

    PARAMETER = 0
    """A trainable variable of the model."""
    BUFFER = 1
    """A tensor of the model that is not trained."""
    GRADIENT = 2
    """The gradient of a parameter."""
    ACTIVATION = 3
    """A tensor that outlives the operator that made it."""
    OPTIMIZER_STATE = 4
    """What the optimizer keeps between steps."""
    INPUT = 5
    """A batch of data."""
    WORKSPACE = 6
    """What an operator needs while it runs."""


_BYTES_HEAD = bytes.__basicsize__ - 1
"""Bytes before the content of a ``bytes``. Its size with no content counts the zero behind it."""


def _address(block: Any) -> int:
    if isinstance(block, int):
        return block
    if hasattr(block, "untyped_storage"):
        # Only programs with tensors need it.
        from ._torch.tensors import address as storage_address

        return storage_address(block)
    interface = getattr(block, "__array_interface__", None)
    if interface is not None:
        return interface["data"][0]
    # Of a buffer that may be written to, such as a bytearray's.
    try:
        address = ctypes.addressof(ctypes.c_char.from_buffer(block))
    except ValueError:
        # It has no bytes.
        return 0
    # From 3.15 on a bytearray's buffer is that of a bytes object, and the block is that object.
    return address - _BYTES_HEAD if isinstance(block, bytearray) and sys.version_info >= (3, 15) else address


def label(block: Any, category: Category, layer: Optional[str] = None) -> bool:
    """Says what a block is for, for its whole life: a tensor of torch, an array of numpy, a buffer such as a ``bytearray``, or
    an address. A block that was allocated in no layer becomes ``layer``'s. What is labelled as a parameter, a buffer, a gradient or an
    optimizer's state already stays that when it is labelled as an input.

    False when it cannot be labelled: nothing records, the object is a view that starts inside of a block, its memory is not
    the allocator's (``mmap``), it has less than 64 bytes, or it has no memory (a sparse tensor).

    Raises TypeError for an object that has no memory to write to, such as ``bytes``.
    """
    if functions is None:
        return False
    return functions.label(_address(block), Category(category), None if layer is None else text(layer))
