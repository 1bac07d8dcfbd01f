"""Nothing that goes wrong here may reach the program."""

import functools
import sys
from typing import Any, Callable


class Watch:
    """Whether torch is watched; no longer after the first error."""

    def __init__(self) -> None:
        self.is_on = True

    def safely(self, hook: Callable) -> Callable:
        """The hook, which never raises. After an error none of them does anything."""

        @functools.wraps(hook)
        def wrapped(*arguments: Any) -> None:
            if not self.is_on:
                return
            try:
                hook(*arguments)
            except Exception as error:
                self.end(error)

        return wrapped

    def end(self, error: Exception) -> None:
        """Something went wrong: nothing is watched any more."""
        self.is_on = False
        told = f"alloc_tracker: PyTorch's modules are not told from here on: {type(error).__name__}: {error}"
        print(told, file=sys.stderr)
