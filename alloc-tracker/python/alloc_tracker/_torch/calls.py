"""How the calls of modules are told: by a method around each, or by hooks of all modules.

The method takes the place of ``torch.nn.Module._call_impl``. It is of Python's own kind (``alloc-tracker/preload/src/torch/calls.rs``): no
traceback shows it, and PyTorch calls modules as it does without hooks, which is another way through its code and takes less time. But Dynamo
cannot trace it. So hooks take its place before a program first asks for a compilation. They also serve where there can be no such method.
"""

import functools
import warnings
from types import FunctionType, SimpleNamespace
from typing import Any

from .. import _imports as imports
from .labels import Labels
from .layers import Layers
from .safely import Watch


class Calls:
    """Has all calls of modules told."""

    def __init__(self, torch: Any, watch: Watch, layers: Layers, labels: Labels) -> None:
        self._torch, self._watch, self._layers, self._labels = torch, watch, layers, labels
        self._has_hooks = False
        self._own: Any = None
        """``_call_impl`` as it was, while the method stands in its place."""
        self._around: Any = None
        """The method."""

    def tell(self) -> None:
        """From now on."""
        module = self._torch.nn.Module
        own = vars(module).get("_call_impl")
        around = self._layers.around(own, self._watch) if isinstance(own, FunctionType) else None
        if around is None:
            self._add_hooks()
            return
        self._own, self._around = own, around
        module._call_impl = around
        # A module that compiles itself hands its call over before it asks.
        if "compile" in vars(module):
            self._before(module, "compile")
        for name, told in (
            # Dynamo is imported when the first optimizer is made. It makes one of these when it is asked to compile.
            ("torch._dynamo.eval_frame", lambda module: self._before(getattr(module, "OptimizeContext", None), "__init__")),
            # What is exported needs none.
            ("torch._dynamo.functional_export", lambda module: self._before(module, "fullgraph_capture")),
        ):
            imports.after(name, self._watch.safely(told))

    def _before(self, owner: Any, name: str) -> None:
        """Has hooks from the first call of this function of a class or a module on; where there is none, from now on."""
        function = vars(owner).get(name) if owner else None
        if not isinstance(function, FunctionType):
            self._add_hooks()
            return
        begin = self._watch.safely(self._add_hooks)

        @functools.wraps(function)
        def wrapped(*args: Any, **named: Any) -> Any:
            if vars(owner).get(name) is wrapped:
                setattr(owner, name, function)
            begin()
            return function(*args, **named)

        setattr(owner, name, wrapped)

    def _add_hooks(self) -> None:
        if self._has_hooks:
            return
        self._has_hooks = True
        module = self._torch.nn.Module
        # A program may have put a function of its own there, which calls what was there before.
        if self._own is not None and vars(module).get("_call_impl") is self._around:
            module._call_impl = self._own
        modules = self._torch.nn.modules.module
        before, after = self._layers.hooks(self._watch)
        modules.register_module_forward_pre_hook(before)
        modules.register_module_forward_hook(after, always_call=True)
        self._labels.trace()
        # torch.compile warns of any hook of all modules. These let it alone.
        imports.after("torch._dynamo.eval_frame", self._watch.safely(self._warn_only_of_the_programs_hooks))

    def _warn_only_of_the_programs_hooks(self, dynamo: Any) -> None:
        """What `torch.compile` makes of a module warns of hooks only if the program has some. Its call keeps its code, with a `warnings.warn` of the
        package's: a filter would be in the way of the program's filters, and they in its."""
        optimized = getattr(dynamo, "OptimizedModule", None)
        call = vars(optimized).get("__call__") if optimized else None
        if not isinstance(call, FunctionType) or "warnings" not in call.__code__.co_names:
            return
        modules = self._torch.nn.modules.module

        def warn(message: Any, *args: Any, stacklevel: int = 1, **named: Any) -> None:
            both = (modules._global_forward_pre_hooks, modules._global_forward_hooks)
            others = modules._global_backward_pre_hooks or modules._global_backward_hooks or any(len(hooks) > 1 for hooks in both)
            if others or "global hooks" not in str(message):
                warnings.warn(message, *args, stacklevel=stacklevel + 1, **named)

        known = {**call.__globals__, "warnings": SimpleNamespace(warn=warn)}
        told = FunctionType(call.__code__, known, call.__name__, call.__defaults__, call.__closure__)
        told.__kwdefaults__ = call.__kwdefaults__
        functools.update_wrapper(told, call)
        del told.__wrapped__
        optimized.__call__ = told
