"""Nothing that goes wrong here may reach the program; but what its signals' handlers raise while a function of the package's runs does."""

import functools
import signal
import sys
from typing import Any, Callable


def _code(handler: Any) -> Any:
    """The code of a signal's handler; None where that is not in Python."""
    while isinstance(handler, functools.partial):
        handler = handler.func
    function = getattr(handler, "__func__", handler)
    return getattr(function, "__code__", None) or getattr(getattr(type(function), "__call__", None), "__code__", None)


def _is_raised_by_handler(error: BaseException) -> bool:
    """Whether the handler of a signal has raised this. Python calls it in whatever function runs."""
    if not isinstance(error, Exception):
        return True
    handlers = {_code(signal.getsignal(number)) for number in signal.valid_signals()} - {None}
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code in handlers:
            return True
        trace = trace.tb_next
    return False


class Watch:
    """Whether torch is watched; no longer after the first error."""

    def __init__(self, torch: Any) -> None:
        self.is_on = True
        # Dynamo knows this function, and takes what stands behind it out of the graph that it traces.
        self.is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
        self._set_compiler = torch._C._dynamo.eval_frame.set_eval_frame
        self._without_overrides = torch._C.DisableTorchFunction

    def safely(self, hook: Callable) -> Callable:
        """The hook, which never raises. After an error none of them does anything, nor within what is traced."""
        is_compiling, apart = self.is_compiling, self.apart(hook)

        @functools.wraps(hook)
        def wrapped(*arguments: Any) -> None:
            if is_compiling() or not self.is_on:
                return
            try:
                apart(*arguments)
            except Exception as error:
                self.end(error)

        return wrapped

    def apart(self, run: Callable) -> Callable:
        """The function, which Dynamo does not see, nor what that calls: where the program runs between two compiled graphs, Dynamo would
        compile each function that is called. Nor do the program's `__torch_function__` see what it asks tensors."""
        set_compiler, without_overrides = self._set_compiler, self._without_overrides

        @functools.wraps(run)
        def wrapped(*arguments: Any) -> Any:
            compiler = set_compiler(None)
            try:
                with without_overrides():
                    return run(*arguments)
            finally:
                set_compiler(compiler)

        return wrapped

    def guarded(self, run: Callable) -> Callable:
        """The function, which never raises, and returns None in place of that. For what Dynamo does not come to."""

        def wrapped(*arguments: Any) -> Any:
            try:
                return run(*arguments)
            except Exception as error:
                return self.end(error)

        return wrapped

    def end(self, error: Exception) -> None:
        """Something went wrong: nothing is watched any more.

        Raises: what the handler of a signal has raised, which goes on to the program.
        """
        if _is_raised_by_handler(error):
            raise error
        self.is_on = False
        told = f"alloc_tracker: PyTorch's modules are not told from here on: {type(error).__name__}: {error}"
        print(told, file=sys.stderr)
