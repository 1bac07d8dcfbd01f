"""Tensors in shared memory: a loader's worker puts its batches there, and hands them over to its parent, which maps them. The library is told
of each mapping, and when it is another process's; that it is unmapped, the library finds out itself."""

import ctypes
import functools
from typing import Any, Callable, Optional, Tuple

from .phases import Phases
from .safely import Watch

_NEW = ("_new_using_fd_cpu", "_new_using_filename_cpu")
"""What makes a storage in new shared memory, by each of PyTorch's two strategies."""
_RECEIVED = ("_new_shared_fd_cpu", "_new_shared_filename_cpu")
"""What maps a storage that another process has sent."""
_SENT = ("_share_fd_cpu_", "_share_filename_cpu_")
"""What is called when a storage is sent, and when a program asks for shared memory; it moves there if it is elsewhere."""


def _functions() -> Optional[Tuple[Callable, Callable]]:
    """The library's; None where the recorder is older than this package."""
    library = ctypes.PyDLL(None)
    try:
        mapped, handed_over = library.alloc_tracker_tensor_mapped, library.alloc_tracker_tensor_handed_over
    except AttributeError:
        return None
    mapped.restype = handed_over.restype = None
    mapped.argtypes = [ctypes.c_size_t, ctypes.c_uint64, ctypes.c_bool]
    handed_over.argtypes = [ctypes.c_size_t]
    return mapped, handed_over


def watch_shared(torch: Any, watch: Watch, phases: Phases) -> None:
    """Has tensors in shared memory told from now on."""
    found = _functions()
    if found is None:
        return
    mapped, handed_over = found
    storages, is_worker = torch.UntypedStorage, torch.utils.data.get_worker_info

    def new(storage: Any) -> None:
        mapped(storage.data_ptr(), storage.nbytes(), is_worker() is not None)

    def received(storage: Any) -> None:
        mapped(storage.data_ptr(), storage.nbytes(), True)

    def sent(storage: Any) -> None:
        new(storage)
        # What other processes send may be theirs as well from then on: the parameters of a model, say.
        if is_worker() is not None:
            handed_over(storage.data_ptr())

    def makes(make: Callable, tell: Callable) -> Any:
        def end(_begun: Any, storage: Any) -> None:
            if storage is not None:
                tell(storage)

        return staticmethod(phases.around(make, lambda: None, end))

    def moves(move: Callable, tell: Callable) -> Any:
        @functools.wraps(move)
        def wrapped(storage: Any, *args: Any, **named: Any) -> Any:
            result = move(storage, *args, **named)
            tell(storage)
            return result

        return wrapped

    for names, wrap, tell in ((_NEW, makes, new), (_RECEIVED, makes, received), (_SENT, moves, sent)):
        for name in names:
            setattr(storages, name, wrap(getattr(storages, name), watch.safely(tell)))
