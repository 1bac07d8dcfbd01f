"""Operators, the layers of backward operators, gradients, and what every storage is for: the preloaded library is told of them by libtorch
itself, after a trial.

No version of PyTorch promises how it tells such things to somebody who was not compiled with its headers. So some operators run
here of which all is known, on threads of their own: no mode that the program has switched on reaches there, and the sequence numbers
of its own threads stay what they are. What the library has seen right then, it goes on to tell.
"""

import _thread
import sys
from typing import Any, Callable, List, Tuple

from .._library import functions

OPERATORS, LAYERS, STORAGES, GRADIENTS = 1, 2, 4, 8

_CALLS = (23, 11, 30, 17)
"""Of each round: how many autograd nodes there are on its thread before the one that is looked at. So its sequence number is like no
other number of a record that grows, or shrinks, or stays."""
_PATIENCE = 10.0
"""Seconds that an operator may take which takes microseconds. The program starts without operators then, but it starts."""


class _NotTold(Exception):
    """Says why operators are not told."""


def _on_a_thread(run: Callable) -> Any:
    """What it returns, from a thread that ends with it."""
    ended, results = _thread.allocate_lock(), []  # type: Any, List[Any]
    ended.acquire()

    def work() -> None:
        try:
            results.append((run(), None))
        except Exception as error:
            results.append((None, error))
        finally:
            ended.release()

    # Not of the module threading, which counts threads for their names, and has traces that a program may have set.
    _thread.start_new_thread(work, ())
    if not ended.acquire(timeout=_PATIENCE):
        raise _NotTold("the trial does not come to an end")
    result, error = results[0]
    if error is not None:
        raise error
    return result


def _round(torch: Any, library: Any, calls: int) -> None:
    one = torch.ones(1, dtype=torch.float32, device="cpu")

    def forward() -> Any:
        value = torch.ones(1, dtype=torch.float32, device="cpu", requires_grad=True)
        for _ in range(calls):
            value = value.neg()
        library.look()
        return value.neg()

    def backward() -> None:
        library.look()
        # The node alone, without the engine: that would look for GPUs and start a thread for each.
        node(one)
        gradient()

    def gradient() -> None:
        # The memory of a buffer begins elsewhere than at the object that its storage's deleter gets.
        variable = torch.frombuffer(bytearray(4), dtype=torch.float32).requires_grad_()
        accumulates = variable.neg().grad_fn.next_functions[0][0]
        library.look_for_gradient()
        accumulates(one)
        storage, made = variable.untyped_storage(), variable.grad.untyped_storage()
        library.end_gradient(id(variable), id(type(variable)), variable._cdata, storage._cdata, storage.data_ptr(), made.data_ptr())

    node = _on_a_thread(forward).grad_fn
    _on_a_thread(backward)
    library.end_round(node._sequence_nr())


def _trial(torch: Any, library: Any) -> int:
    version = tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])
    if not (2, 1) <= version < (3, 0):
        raise _NotTold("this is known for PyTorch from 2.1 on")
    why = library.begin_trial()
    if why is not None:
        raise _NotTold(why.decode())
    try:
        for calls in _CALLS:
            _round(torch, library, calls)
    finally:
        told = library.end_trial()
    if not told & OPERATORS:
        raise _NotTold("the self-test failed")
    return told


def _said(torch: Any, library: Any) -> Tuple[int, str, str]:
    """What is told, and in words: for the timeline, and for the user if it is not all."""
    try:
        told = _trial(torch, library)
    except _NotTold as error:
        return 0, f"not told: {error}", f"operators are not told: {error}"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        return 0, f"not told: {why}", f"operators are not told: {why}"
    if not told & LAYERS:
        missing = "backward operators are told without their layers: the self-test failed"
        return told, "names only: the self-test failed", missing
    if not told & STORAGES:
        return told, "told", "only the outputs of modules are told as activations: libtorch allocates them in a way of its own"
    return told, "told", ""


def tell(torch: Any, library: Any) -> int:
    """Has operators told from now on. Returns what is told, as a sum of `OPERATORS`, `LAYERS`, `STORAGES` and `GRADIENTS`."""
    told, fact, message = _said(torch, library)
    functions.fact(b"operators", fact.encode("utf-8", "replace"))
    if message:
        print(f"alloc_tracker: {message}", file=sys.stderr)
    return told
