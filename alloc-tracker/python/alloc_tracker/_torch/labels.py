"""Parameters, buffers, gradients and optimizer state, each with the layer of its module."""

import weakref
from typing import Any, Callable, Dict, List, Optional, Tuple

from .._blocks import Category
from .._library import functions, text
from .safely import Watch
from .tensors import address


def label(
    tensor: Any, category: Category, layer: Optional[bytes] = None, storage: Callable[[Any], int] = address
) -> None:
    """Labels the storage of a tensor, if it has one here. ``storage`` says where that begins, as `address` does."""
    at = storage(tensor)
    if at:
        functions.label(at, category, layer)


class Labels:
    """Which layer each parameter is of."""

    def __init__(self, watch: Watch, layer: Callable, running: Any) -> None:
        self._layer = layer
        # By identity: tensors are compared by their elements.
        self._layers: Dict[int, Tuple[bytes, int]] = {}
        """The layer of each parameter, and its number."""
        self._handles: Dict[int, Tuple[Any, Any]] = {}
        """Each parameter that has a hook, weakly, and the handle of that."""
        self._states: Any = weakref.WeakKeyDictionary()
        """For each optimizer where its state was when it was last looked at: all addresses in one list, and by the identity of each
        parameter a list of that parameter's."""
        self._hook_in_python = self._hook(watch, running.label_gradient)
        self.storage, self._gradient_hook = running.of_tensors(self._layers) or (address, self._hook_in_python)

    def trace(self) -> None:
        """From now on, what is called for gradients can be traced by Dynamo, as it does where the engine is compiled."""
        self._gradient_hook = self._hook_in_python
        for place, (met, handle) in list(self._handles.items()):
            parameter = met()
            if parameter is not None:
                handle.remove()
                self._handles[place] = met, parameter.register_post_accumulate_grad_hook(self._gradient_hook)

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
        weakref.finalize(parameter, self._forget, id(parameter)).atexit = False
        if parameter.requires_grad and parameter.is_leaf:
            handle = parameter.register_post_accumulate_grad_hook(self._gradient_hook)
            self._handles[id(parameter)] = weakref.ref(parameter), handle

    def _forget(self, place: int) -> None:
        self._layers.pop(place, None)
        self._handles.pop(place, None)

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

    def before_step(self, optimizer: Any, name_networks_of: Callable[[List[Any]], None]) -> None:
        """The gradients of parameters that have no layer. They get one by ``name_networks_of`` if a module has them."""
        has_layer = self._layers.__contains__
        for group in optimizer.param_groups:
            parameters = group["params"]
            if all(map(has_layer, map(id, parameters))):
                continue
            unknown = [parameter for parameter in parameters if not has_layer(id(parameter))]
            name_networks_of(unknown)
            for parameter in unknown:
                if parameter.grad is not None:
                    label(parameter.grad, Category.GRADIENT, self.layer_of(parameter))

    def after_step(self, optimizer: Any) -> None:
        """What the optimizer keeps, where it is new or has moved."""
        storage, states = self.storage, optimizer.state
        everywhere = [storage(value) for state in states.values() for value in state.values()]
        known_everywhere, known = self._states.get(optimizer, (None, {}))
        if everywhere == known_everywhere:
            return
        self._states[optimizer] = everywhere, known
        for parameter, state in states.items():
            places = list(map(storage, state.values()))
            if known.get(id(parameter)) != places:
                known[id(parameter)] = places
                for place in filter(None, places):
                    functions.label(place, Category.OPTIMIZER_STATE, self.layer_of(parameter))
