"""How the calls of modules are told: by a method around each, or by hooks of all modules.

The method takes the place of ``torch.nn.Module._call_impl``. It is of Python's own kind (``alloc-tracker/preload/src/torch/calls.rs``): no
traceback shows it, and PyTorch calls modules as it does without hooks, which is another way through its code and takes less time. But Dynamo
cannot trace it. So hooks take its place before a program first asks for a compilation. They also serve where there can be no such method.
"""

import functools
import sys
import warnings
from types import FunctionType
from typing import Any

from .. import _imports as imports
from .layers import Layers
from .safely import Watch


class Calls:
    """Has all calls of modules told."""

    def __init__(self, torch: Any, watch: Watch, layers: Layers) -> None:
        self._torch, self._watch, self._layers = torch, watch, layers
        self._has_hooks = False
        self._own: Any = None
        """``_call_impl`` as it was, while the method stands in its place."""

    def tell(self) -> None:
        """From now on."""
        module = self._torch.nn.Module
        own = vars(module).get("_call_impl")
        around = self._layers.around(own, self._watch) if isinstance(own, FunctionType) else None
        if around is None:
            self._add_hooks()
            return
        self._own, module._call_impl = own, around
        for name, told in (
            ("torch._dynamo.eval_frame", self._of_contexts),
            # Imported when something is exported by Dynamo, which needs no context then.
            ("torch._dynamo.functional_export", lambda _module: self._add_hooks()),
        ):
            told = self._watch.safely(told)
            if name in sys.modules:
                told(sys.modules[name])
            else:
                imports.after(name, told)

    def _of_contexts(self, module: Any) -> None:
        """Dynamo has been imported, as any optimizer does. It makes one of these when it is asked to compile."""
        contexts = getattr(module, "OptimizeContext", None)
        make = vars(contexts).get("__init__") if contexts else None
        if not isinstance(make, FunctionType):
            self._add_hooks()
            return
        begin = self._watch.safely(self._add_hooks)

        @functools.wraps(make)
        def wrapped(*args: Any, **named: Any) -> None:
            begin()
            make(*args, **named)

        contexts.__init__ = wrapped

    def _add_hooks(self) -> None:
        if self._has_hooks:
            return
        self._has_hooks = True
        if self._own is not None:
            self._torch.nn.Module._call_impl = self._own
        modules = self._torch.nn.modules.module
        before, after = self._layers.hooks(self._watch)
        modules.register_module_forward_pre_hook(before)
        modules.register_module_forward_hook(after, always_call=True)
        # torch.compile warns of any hook of all modules. These let it alone.
        warnings.filterwarnings("ignore", message="Using `torch.compile\\(module\\)` when there are global hooks")
