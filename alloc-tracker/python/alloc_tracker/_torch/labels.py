"""Parameters, buffers, gradients and optimizer state, each with the layer of its module."""

import weakref
from typing import Any, Callable, Dict, Optional, Tuple

from .._blocks import Category
from .._library import functions, text
from .safely import Watch
from .tensors import address


def label(tensor: Any, category: Category, layer: Optional[bytes] = None) -> None:
    """Labels the storage of a tensor, if it has one here."""
    at = address(tensor)
    if at:
        functions.label(at, category, layer)


class Labels:
    """Which layer each parameter is of."""

    def __init__(self, watch: Watch, layer: Callable, label_gradient: Callable) -> None:
        self._layer = layer
        # By identity: tensors are compared by their elements.
        self._layers: Dict[int, Tuple[bytes, int]] = {}
        """The layer of each parameter, and its number."""
        self._gradient_hook = self._hook(watch, label_gradient)
        self._states: Any = weakref.WeakKeyDictionary()

    def layer_of(self, parameter: Any) -> Optional[bytes]:
        """The layer of a parameter, if it has been met in a module."""
        layer = self._layers.get(id(parameter))
        return layer and layer[0]

    def parameter(self, parameter: Any, layer: str) -> None:
        """A parameter of a layer."""
        name = text(layer)
        label(parameter, Category.PARAMETER, name)
        if id(parameter) in self._layers:
            return
        self._layers[id(parameter)] = name, self._layer(name)
        weakref.finalize(parameter, self._layers.pop, id(parameter), None).atexit = False
        if parameter.requires_grad and parameter.is_leaf:
            parameter.register_post_accumulate_grad_hook(self._gradient_hook)

    def _hook(self, watch: Watch, label_gradient: Callable) -> Callable:
        """What is called when a parameter has a gradient. One function, as for `Layers.hooks`. It never raises."""
        layers, is_compiling = self._layers, watch.is_compiling

        def gradient(parameter: Any) -> None:
            if is_compiling() or not watch.is_on:
                return
            try:
                own = parameter.grad
                at = address(own) if own is not None else 0
                if at:
                    label_gradient(at, layers[id(parameter)][1])
            except Exception as error:
                watch.end(error)

        return gradient

    def before_step(self, optimizer: Any) -> None:
        """The gradients of parameters that no module has."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in self._layers and parameter.grad is not None:
                    label(parameter.grad, Category.GRADIENT)

    def after_step(self, optimizer: Any) -> None:
        """What the optimizer keeps, where it is new or has moved."""
        known = self._states.setdefault(optimizer, {})
        for parameter, state in optimizer.state.items():
            for key, value in state.items():
                at = address(value) if hasattr(value, "untyped_storage") else 0
                if at and known.get((id(parameter), key)) != at:
                    known[id(parameter), key] = at
                    label(value, Category.OPTIMIZER_STATE, self.layer_of(parameter))
