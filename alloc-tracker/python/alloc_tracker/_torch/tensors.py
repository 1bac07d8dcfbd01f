"""The tensors in a value, and where a tensor's storage is."""

from typing import Any, Iterator

_DEEP = 4
"""How deep lists, tuples and dictionaries are looked into."""


def tensors(torch: Any, value: Any, depth: int = 0) -> Iterator[Any]:
    """The tensors in a module's arguments or results."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth < _DEEP and isinstance(value, (list, tuple)):
        for one in value:
            yield from tensors(torch, one, depth + 1)
    elif depth < _DEEP and isinstance(value, dict):
        for one in value.values():
            yield from tensors(torch, one, depth + 1)


def address(tensor: Any) -> int:
    """Where the storage of a tensor begins, in the memory of its device; 0 where it has none."""
    try:
        return tensor.untyped_storage().data_ptr()
    except Exception:  # Fake tensors, and such of other layouts, have no storage, and say so in different ways.
        return 0
