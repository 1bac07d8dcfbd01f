"""Parameters, buffers, gradients and optimizer state, each with the layer of its module."""

import ctypes
import weakref
from typing import Any, Dict, List, Optional, Tuple

from .._blocks import Category
from .._library import functions, text
from .tensors import address


def label(tensor: Any, category: Category, layer: Optional[bytes] = None) -> None:
    """Labels the storage of a tensor, if it has one here."""
    at = address(tensor)
    if at:
        functions.label(at, category, layer)


class Labels:
    """Which layer each parameter is of."""

    def __init__(self, library: Any) -> None:
        self._library = library
        # By identity: tensors are compared by their elements.
        self._layers: Dict[int, bytes] = {}
        self._trained: Dict[int, Tuple[Any, int]] = {}
        """The parameters that get gradients, each with the number of its layer."""
        self._ordered: Optional[Tuple[List[Any], Any]] = None
        """The same as two lists; None when they have to be made anew."""
        self._states: Any = weakref.WeakKeyDictionary()

    def layer_of(self, parameter: Any) -> Optional[bytes]:
        """The layer of a parameter, if it has been met in a module."""
        return self._layers.get(id(parameter))

    def parameter(self, parameter: Any, layer: str) -> None:
        """A parameter of a layer."""
        name = text(layer)
        label(parameter, Category.PARAMETER, name)
        identity = id(parameter)
        if identity in self._layers:
            return
        self._layers[identity] = name
        if parameter.is_leaf:
            self._trained[identity] = weakref.ref(parameter), self._library.layer(name)
            self._ordered = None
        weakref.finalize(parameter, self._forget, identity).atexit = False

    def _forget(self, identity: int) -> None:
        self._layers.pop(identity, None)
        self._trained.pop(identity, None)
        self._ordered = None

    def gradients(self) -> None:
        """A backward pass has ended: all gradients that there are, in one call. One that was used and let go within the pass has no
        label."""
        ordered = self._ordered
        if ordered is None:
            trained = list(self._trained.values())
            numbers = (ctypes.c_uint32 * len(trained))(*(number for _, number in trained))
            ordered = self._ordered = [reference for reference, _ in trained], numbers
        addresses = []
        for reference in ordered[0]:
            parameter = reference()
            gradient = parameter.grad if parameter is not None else None
            addresses.append(address(gradient) if gradient is not None else 0)
        count = len(addresses)
        self._library.label_gradients((ctypes.c_uint64 * count)(*addresses), ordered[1], count)

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
