"""The modules whose forward pass runs on each thread, each with its scope.

The preloaded library keeps them, by functions of Python's own kind (``alloc-tracker/preload/src/torch/builtins.rs``), because a small
module takes few microseconds. Where this Python has no such functions, `_Running` does the same.
"""

import functools
import threading
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._library import HAS_BUILTINS, made


class _Running(threading.local):
    def __init__(self, library: Any, paths: Dict[int, Tuple[str, int]]) -> None:
        self.paths, self._library = paths, library
        self.label_gradient = library.label_gradient
        self._modules: List[Tuple[int, Any]] = []
        """By identity, each with its scope; the outermost first."""

    def enter(self, module: Any, anyway: bool = False) -> bool:
        """Enters the layer of a module. Returns whether it has: not without a path, and as the outermost module only with
        ``anyway``."""
        path = self.paths.get(id(module)) if self._modules or anyway else None
        if path is None:
            return False
        self._modules.append((id(module), self._library.enter_layer(path[1])))
        return True

    def leave(self, module: Any) -> bool:
        """Leaves the layer of a module, and all in it that were not left. Returns whether the module was the outermost: not where it
        does not run."""
        for place in reversed(range(len(self._modules))):
            if self._modules[place][0] == id(module):
                self._library.leave_layer(self._modules[place][1])
                del self._modules[place:]
                return place == 0
        return False

    def innermost(self) -> int:
        """The innermost module that runs on this thread, as ``id`` gives it; 0 where none runs."""
        return self._modules[-1][0] if self._modules else 0

    def around(self, _call: Callable, _begin: Callable, _end: Callable, _owner: type) -> Optional[Callable]:
        """Nothing: a function in Python would stand in tracebacks."""
        return None

    def of_tensors(self, _layers: Dict[int, Any]) -> None:
        """Nothing: `tensors.address` and `Labels` do the same in Python."""


def _around(library: Any, paths: Any, call: Callable, begin: Callable, end: Callable, owner: type) -> Optional[Callable]:
    """A method of the class ``owner`` that does what ``call`` does, a module's call, with the module's layer around it; ``None`` where this Python is too old.
    It calls ``begin(module, *arguments)`` for a module that is the outermost or has no path, and ``end(result)`` when the outermost has ended, or ``end()`` where that has raised."""
    return made(library.around((paths, call, begin, end, owner)))


def _of_tensors(library: Any, layers: Dict[int, Any]) -> Optional[Tuple[Callable, Callable]]:
    """``storage(tensor)``, which does what `tensors.address` does and takes any object, and ``label_gradient_of(parameter)``, for a dictionary that
    has by identity a tuple for each parameter, of which the second is the number of its layer; ``None`` where this Python is too old."""
    return made(library.of_tensors((layers, "grad", "fake_mode", "data_ptr", "storage_offset", "element_size", "_local_tensor")))


def running(library: Any) -> Any:
    """The functions ``enter``, ``leave``, ``innermost``, ``label_gradient``, ``around`` and ``of_tensors``, and ``paths``: by identity, which is found
    faster than a weak reference, the path of each module with the path's number."""
    paths: Dict[int, Tuple[str, int]] = {}
    builtins = made(library.functions(paths)) if HAS_BUILTINS else None
    if builtins is None:
        return _Running(library, paths)
    enter, leave, innermost, label_gradient = builtins
    return SimpleNamespace(
        paths=paths,
        enter=enter,
        leave=leave,
        innermost=innermost,
        label_gradient=label_gradient,
        around=functools.partial(_around, library, paths),
        of_tensors=functools.partial(_of_tensors, library),
    )
