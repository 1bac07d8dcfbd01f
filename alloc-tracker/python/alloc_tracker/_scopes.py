"""Phases, layers, operators and steps, as context managers and decorators."""

import _thread
from contextlib import ContextDecorator
from typing import Any, Callable, List, Tuple

from ._calls import around_each_resumption, around_whole_run
from ._library import Scope, functions, text


class _Thread(_thread._local):
    # Not of the module threading, which the program may never import.
    open = 0
    """How many of the program's own scopes are entered on this thread."""
    phases = 0
    """How many of them are phases."""


thread = _Thread()


class _Named(ContextDecorator):
    """A scope with a name. It may be entered again while it is entered, but by one thread at a time; each call of a decorated
    function has one of its own. A decorated generator or coroutine is in the scope while it runs, and not while it waits."""

    _enter: Any = None
    """The library's function; None where the library is not there."""
    _is_phase = False

    def __init__(self, name: str) -> None:
        self._name = name
        self._text = text(name)
        self._entered: List[Tuple[Scope, int]] = []
        """Each with the thread that entered it. A generator may be closed by another."""

    def __call__(self, function: Callable) -> Callable:
        return around_each_resumption(self._recreate_cm, function) or super().__call__(function)

    def _recreate_cm(self):
        return type(self)(self._name)

    def __enter__(self) -> "_Named":
        if self._enter is not None:
            self._entered.append((self._enter(self._text), _thread.get_ident()))
            thread.open += 1
            thread.phases += self._is_phase
        return self

    def __exit__(self, *_error) -> None:
        if functions is not None:
            scope, entered_by = self._entered.pop()
            # The other thread's scopes are its own, and no number of this one's may stand for one of them.
            if entered_by == _thread.get_ident():
                thread.open -= 1
                thread.phases -= self._is_phase
                functions.leave(scope)

    def __repr__(self) -> str:
        return f"alloc_tracker.{type(self).__name__}({self._name!r})"


class phase(_Named):
    """What this thread allocates until the end belongs to this phase, such as ``"forward"``."""

    _enter = functions and functions.enter_phase
    _is_phase = True


class layer(_Named):
    """What this thread allocates until the end belongs to this layer. Within another layer, the path is appended to that
    layer's path, after a dot."""

    _enter = functions and functions.enter_layer


class op(_Named):
    """What this thread allocates until the end was made by this operator, such as ``"matmul"``. Within another operator
    nothing is entered: memory belongs to the outermost. What is freed within the call that allocated it is workspace."""

    _enter = functions and functions.enter_op


class step(ContextDecorator):
    """A training step. The timeline has the peak of each. One that begins ends the one before. In a program that has begun one, no other steps are told:
    otherwise PyTorch's batches, forward passes and optimizers tell them."""

    is_used = False
    """Whether the program has begun one."""

    def __call__(self, function: Callable) -> Callable:
        return around_whole_run(type(self), function) or super().__call__(function)

    def __enter__(self) -> "step":
        step.is_used = True
        if functions is not None:
            functions.begin_step()
        return self

    def __exit__(self, *_error) -> None:
        if functions is not None:
            functions.end_step()
