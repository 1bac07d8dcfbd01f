"""The tensors in a value, and where a tensor's storage is."""

from typing import Any, Iterable, Iterator

_DEEP = 4
"""How deep lists, tuples and dictionaries are looked into."""

PLAIN = (list, tuple, dict, str, int, float, type(None))
"""Types of values in which all tensors are found."""


def tensors(torch: Any, value: Any) -> Iterator[Any]:
    """The tensors in a module's arguments or results."""
    return (one for one in values(value) if isinstance(one, torch.Tensor))


def values(value: Any, depth: int = 0) -> Iterator[Any]:
    """The value, or what it holds if it is a list, a tuple or a dictionary."""
    if isinstance(value, (list, tuple, dict)):
        if depth < _DEEP:
            for one in _parts(value):
                yield from values(one, depth + 1)
    else:
        yield value


def _parts(value: Any) -> Iterable[Any]:
    """What a list, a tuple or a dictionary holds. A program's class of one may let itself be read only once."""
    if isinstance(value, list):
        return list.__iter__(value)
    if isinstance(value, tuple):
        return tuple.__iter__(value)
    return dict.values(value) if isinstance(value, dict) else ()


def address(tensor: Any) -> int:
    """Where the storage of a tensor begins, in the memory of its device; 0 where it has none."""
    try:
        storage = tensor.untyped_storage()
        # PyTorch warns of who asks a fake tensor's, which is `meta`.
        return 0 if storage.device.type == "meta" else storage.data_ptr()
    except Exception:  # Fake tensors, and such of other layouts, have no storage, and say so in different ways.
        # A `DTensor` is a part of a tensor, and the others are elsewhere.
        local = getattr(tensor, "_local_tensor", None)
        return 0 if local is None else address(local)


def has_graph(tensor: Any) -> bool:
    """Whether an operator has made it that a backward pass may come back to."""
    try:
        return tensor.grad_fn is not None
    except RuntimeError:
        # A view whose base has been changed since: PyTorch refuses to say.
        return True
