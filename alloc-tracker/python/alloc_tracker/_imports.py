"""Whose code is imported: while a module is found, loaded and run, its thread is in the phase ``import``, in a layer with the module's
name.

Python holds a lock for each module that it imports, by ``with _ModuleLockManager(name)`` in ``importlib._bootstrap``; so did every
version from 3.8 to 3.15. From 3.15 on, a module within a package has ``_HierarchicalLockManager``, which holds its packages' locks as
well. The classes here take their places, and enter a scope besides. So no frame of this file is on the stack while a module runs, and
tracebacks, finders, loaders and specs are what they would be without it. Nobody promises that Python goes on to import that way. Where
it does not, imports are not told, and the fact ``imports`` says so.
"""

import _thread
import ctypes
import sys
from importlib import _bootstrap
from typing import Any, Callable, Dict, Optional, Tuple

from ._library import HAS_BUILTINS, NEW_OBJECT, functions, made, text

_MOST = 2000
"""How many layers there may be, of the 32,639 scopes that the library has room for. A module beyond them is its importer's."""

_MANAGERS = ("_ModuleLockManager", "_HierarchicalLockManager")
"""The classes in ``importlib._bootstrap`` that hold locks. Every version has the first."""

_waiting: Dict[str, Callable[[Any], None]] = {}
"""By a module's name: what wants to know of it, once."""


class _Thread(_thread._local):
    # Not of the module threading, which the program may never import.
    layer: Optional[bytes] = None
    """The layer of the innermost import that runs on this thread."""


def _is_ready(module: str) -> bool:
    """Whether it has been imported, and this is not an import of its own parts."""
    found = sys.modules.get(module)
    return found is not None and not getattr(getattr(found, "__spec__", None), "_initializing", False)


def _imported(module: str) -> None:
    """An import ends of a module that somebody waits for."""
    if _is_ready(module):
        _waiting.pop(module)(sys.modules[module])


def _methods(locks: Any) -> Optional[Tuple[Any, Any]]:
    """``__enter__`` and ``__exit__`` of a class that does what ``locks`` does, and tells of the import for which it is made, by the library
    (``alloc-tracker/preload/src/python/imports.rs``); ``None`` where it does not know this Python."""
    if not HAS_BUILTINS:
        return None
    make = getattr(ctypes.PyDLL(None), "alloc_tracker_python_imports", None)
    if make is None:
        # The recorder is older than this package.
        return None
    make.argtypes, make.restype = [ctypes.py_object], NEW_OBJECT
    return made(make((locks.__enter__, locks.__exit__, _waiting, _imported, "_name")))


def _that_tells(locks: Any, thread: _Thread, layers: Dict[str, bytes]) -> Any:
    """A class that does what ``locks`` does, and tells of the import for which it is made: by the library's methods, or by the same in Python, for
    which ``thread`` and ``layers`` keep what was met."""
    methods = _methods(locks)
    if methods is not None:
        return type("Importing", (locks,), {"__enter__": methods[0], "__exit__": methods[1]})
    acquire, release = locks.__enter__, locks.__exit__
    enter_phase, enter_layer, leave = functions.enter_phase, functions.enter_layer_alone, functions.leave

    def layer_of(module: str) -> Optional[bytes]:
        # Two parts of a name tell whose it is: `torch._dynamo.guards` is `torch._dynamo`'s, of which people have heard.
        end = module.find(".", module.find(".") + 1)
        name = module[:end] if end > 0 else module
        layer = layers.get(name)
        if layer is None:
            if len(layers) == _MOST:
                return thread.layer
            # The word tells a script's `model.py` from its network's attribute `model`.
            layer = layers[name] = text("import " + name)
        return layer

    class Importing(locks):
        def _tell_begin(self) -> None:
            self._around, self._scope = thread.layer, None
            layer = layer_of(self._name)
            if layer == self._around:
                return
            if self._around is None:
                self._scope = enter_phase(b"import")
                enter_layer(layer)
            else:
                self._scope = enter_layer(layer)
            thread.layer = layer

        def _tell_end(self) -> None:
            if self._scope is not None:
                # With all that was entered in it.
                leave(self._scope)
                thread.layer = self._around

        def __enter__(self) -> None:
            # A signal's handler may raise anywhere here. It must find a lock that is not held, or one that `with` releases.
            self._tell_begin()
            try:
                acquire(self)
            except BaseException:
                self._tell_end()
                raise

        def __exit__(self, *error: Any) -> None:
            try:
                if self._name in _waiting:
                    _imported(self._name)
            finally:
                release(self, *error)
            self._tell_end()

    return Importing


def after(module: str, told: Callable[[Any], None]) -> None:
    """Has ``told`` called with a module: now if it has been imported, else as soon as it is, on the thread that does. It must not raise."""
    if _is_ready(module):
        told(sys.modules[module])
    else:
        _waiting[module] = told


def _tell() -> None:
    """Has imports told from now on, in a process that is recorded."""
    if functions is None:
        return
    managers = {name: getattr(_bootstrap, name) for name in _MANAGERS if hasattr(_bootstrap, name)}
    if _MANAGERS[0] not in managers or not all(_is_known(locks) for locks in managers.values()):
        functions.fact(b"imports", b"not told: this Python imports in another way")
        return
    thread, layers = _Thread(), {}  # type: _Thread, Dict[str, bytes]
    for name, locks in managers.items():
        setattr(_bootstrap, name, _that_tells(locks, thread, layers))


def _is_known(locks: Any) -> bool:
    return isinstance(locks, type) and getattr(locks("alloc_tracker"), "_name", None) == "alloc_tracker"


# Here, so that a package that is loaded again does not tell twice.
_tell()
