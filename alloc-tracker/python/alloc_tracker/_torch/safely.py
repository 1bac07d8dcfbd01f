"""Nothing that goes wrong here may reach the program."""

import functools
import sys
from typing import Any, Callable


class Watch:
    """Whether torch is watched; no longer after the first error."""

    def __init__(self, torch: Any) -> None:
        self.is_on = True
        # Dynamo knows this function, and takes what stands behind it out of the graph that it traces.
        self.is_compiling = getattr(torch.compiler, "is_compiling", lambda: False)
        self._set_compiler = torch._C._dynamo.eval_frame.set_eval_frame

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
        compile each function that is called."""
        set_compiler = self._set_compiler

        @functools.wraps(run)
        def wrapped(*arguments: Any) -> Any:
            compiler = set_compiler(None)
            try:
                return run(*arguments)
            finally:
                set_compiler(compiler)

        return wrapped

    def guarded(self, run: Callable) -> Callable:
        """The function, which never raises. For what Dynamo does not come to."""

        def wrapped(*arguments: Any) -> None:
            try:
                run(*arguments)
            except Exception as error:
                self.end(error)

        return wrapped

    def end(self, error: Exception) -> None:
        """Something went wrong: nothing is watched any more."""
        self.is_on = False
        told = f"alloc_tracker: PyTorch's modules are not told from here on: {type(error).__name__}: {error}"
        print(told, file=sys.stderr)
