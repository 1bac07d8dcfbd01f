"""Parameters, buffers, gradients and optimizer state, each with the layer of its module."""

import weakref
from typing import Any, Dict, Optional

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

    def __init__(self, watch: Watch) -> None:
        self._gradient_hook = watch.safely(self.gradient)
        # By identity: tensors are compared by their elements.
        self._layers: Dict[int, bytes] = {}
        self._state: Dict[Any, int] = {}

    def layer_of(self, parameter: Any) -> Optional[bytes]:
        """The layer of a parameter, if it has been met in a module."""
        return self._layers.get(id(parameter))

    def parameter(self, parameter: Any, layer: str) -> None:
        """A parameter of a layer."""
        name = text(layer)
        label(parameter, Category.PARAMETER, name)
        if id(parameter) in self._layers:
            return
        self._layers[id(parameter)] = name
        weakref.finalize(parameter, self._layers.pop, id(parameter), None)
        if parameter.requires_grad and parameter.is_leaf:
            parameter.register_post_accumulate_grad_hook(self._gradient_hook)

    def gradient(self, parameter: Any) -> None:
        """The gradient that a parameter has now."""
        gradient = parameter.grad
        if gradient is not None:
            label(gradient, Category.GRADIENT, self.layer_of(parameter))

    def before_step(self, optimizer: Any) -> None:
        """The gradients of parameters that no module has."""
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if id(parameter) not in self._layers:
                    self.gradient(parameter)

    def after_step(self, optimizer: Any) -> None:
        """What the optimizer keeps, where it is new or has moved."""
        for parameter, state in optimizer.state.items():
            for key, value in state.items():
                at = address(value) if hasattr(value, "untyped_storage") else 0
                if at and self._state.get((id(parameter), key)) != at:
                    self._state[id(parameter), key] = at
                    label(value, Category.OPTIMIZER_STATE, self.layer_of(parameter))
