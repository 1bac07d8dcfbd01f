"""The phases and steps of a training loop."""

import functools
import sys
import threading
from typing import Any, Callable, List, Optional, Tuple

from .. import _scopes as scopes
from .._library import HAS_BUILTINS, functions, made
from .safely import Watch


NEXT, APPLY = 0, 1
"""The library's numbers of the methods that it can stand around."""


class _Thread(threading.local):
    """What a thread is in."""

    def __init__(self) -> None:
        self.losses: List[Tuple[Any, int]] = []
        """The scopes between the end of a forward pass and what follows, each with how many scopes of the program's own were entered then. There is
        more than one where the program has entered a scope since and not left it."""
        self.backward = 0
        """How many backward passes run on this thread, within each other."""
        self.compiles = False
        """Whether something is compiled on it."""
        self.optimizers: List[Tuple[int, Any]] = []
        """The optimizers' steps that have begun on it and not ended, the outermost first: the identity of the frame that runs each, and its scope."""


class Phases:
    """Enters phases, and knows whether a step is open."""

    def __init__(self, torch: Any, watch: Watch, library: Any) -> None:
        self._watch, self._library = watch, library
        self._is_grad_enabled = torch.is_grad_enabled
        # The number of the backward pass that the calling thread computes, or -1; since PyTorch 2.1. A thread of the engine's computes one that
        # another thread has begun: each GPU has such a thread.
        self._graph_task = getattr(torch._C, "_current_graph_task_id", lambda: -1)
        self.thread = _Thread()
        self._in_step = False
        self._has_networks = False
        """Whether a forward pass or a batch has ever been told."""

    def is_in_backward(self) -> bool:
        """Whether a backward pass runs on this thread."""
        return self.thread.backward > 0 or self._graph_task() != -1

    def enter(self, name: bytes) -> Any:
        """Enters a phase, which ends the loss."""
        self.end_loss()
        if self.thread.optimizers:
            self._leave_optimizers_that_raised()
        return functions.enter_phase(name)

    def begin_optimizer(self, frame: Any) -> None:
        """An optimizer's step begins, which this frame runs."""
        # A reference to the frame would keep alive what is in it where the step raises.
        self.thread.optimizers.append((id(frame), self.enter(b"optimizer")))

    def end_optimizer(self) -> None:
        """It ends, after which nothing was raised."""
        if self.thread.optimizers:
            functions.leave(self.thread.optimizers.pop()[1])

    def _leave_optimizers_that_raised(self) -> None:
        """PyTorch does not tell of a step that raises. Its frame runs no more; that of one whose closure runs a forward pass does."""
        running, frame = set(), sys._getframe()
        while frame is not None:
            running.add(id(frame))
            frame = frame.f_back
        begun = self.thread.optimizers
        over = next((place for place, (identity, _) in enumerate(begun) if identity not in running), None)
        if over is not None:
            functions.leave(begun[over][1])
            del begun[over:]

    def begin_loss(self) -> None:
        """What comes after a forward pass that will need a backward pass, until that or another phase begins; in a phase of the program's own it stays in that."""
        self.end_loss()
        if scopes.thread.phases > 0:
            return
        self.thread.losses.append((functions.enter_phase(b"loss"), scopes.thread.open))

    def end_loss(self) -> None:
        """Does nothing where the program has left that scope with one of its own around it. One within which the program has entered a scope ends
        later: to leave it would be to leave that too."""
        losses = self.thread.losses
        while losses and losses[-1][1] >= scopes.thread.open:
            functions.leave(losses.pop()[0])

    def begin_step(self) -> None:
        """The first batch or forward pass after an optimizer's step begins the next step, unless the program says itself where steps begin."""
        self._has_networks = True
        self._begin_step()

    def _begin_step(self) -> None:
        if scopes.step.is_used:
            self._in_step = False
        elif not self._in_step:
            self._in_step = True
            functions.begin_step()

    def end_step(self) -> None:
        """After the optimizer's step."""
        if self._in_step and not scopes.step.is_used:
            self._in_step = False
            functions.end_step()

    def in_backward(self, run: Callable) -> Callable:
        """The engine's ``run_backward``, or what calls it, as the phase ``backward``."""
        is_compiling = self._watch.is_compiling

        def begin() -> Any:
            if is_compiling():
                return None
            if not self._has_networks:
                # A program may do without modules, or have them all compiled away.
                self._begin_step()
            scope = self.enter(b"backward")
            self.thread.backward += 1
            return scope

        def end(scope: Any, _result: Any) -> None:
            if scope is not None:
                self.thread.backward -= 1
                functions.leave(scope)

        return self.around(run, begin, end)

    def in_data(self, iterator: type, met: Callable) -> Callable:
        """``__next__`` of this class, the iterator of a ``DataLoader``, as the phase ``data``. ``met`` is told of each batch."""
        met = self._watch.safely(met)

        def begin() -> Any:
            # Without gradients it is a batch to validate with.
            if self._is_grad_enabled():
                self.begin_step()
            return self.enter(b"data")

        def end(scope: Any, batch: Any) -> None:
            if batch is not None:
                met(batch)
            if scope is not None:
                functions.leave(scope)

        return self.around(iterator.__next__, begin, end, (NEXT, iterator))

    def around(self, run: Callable, begin: Callable, end: Callable, method: Optional[Tuple[int, type]] = None) -> Callable:
        """What does what ``run`` does between ``begin()`` and ``end(begun, result)``; for a method the library's number of it, and its class. It stands
        in no traceback, except where the library can make no such function."""
        begin, end, builtin = self._watch.guarded(begin), self._watch.guarded(end), None
        if HAS_BUILTINS and method is not None:
            number, owner = method
            builtin = made(self._library.around_method(number, (run, begin, end, owner)))
        elif HAS_BUILTINS:
            builtin = made(self._library.around_function((run, begin, end)))
        if builtin is not None:
            return builtin

        @functools.wraps(run)
        def wrapped(*args: Any, **named: Any) -> Any:
            begun, result = begin(), None
            try:
                result = run(*args, **named)
                return result
            finally:
                end(begun, result)

        return wrapped
