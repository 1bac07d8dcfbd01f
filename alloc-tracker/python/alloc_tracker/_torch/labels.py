"""Parameters, buffers, gradients and optimizer state, each with the layer of its module."""

import operator
import weakref
from typing import Any, Callable, Dict, List, NamedTuple, Optional, Tuple

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


class _Parameter(NamedTuple):
    """A parameter of a module."""

    layer: bytes
    number: int
    """The layer's."""
    module: Any
    """Weakly."""
    name: str
    """The module's name for it."""

    def tensor(self) -> Any:
        """The parameter; what the module has in its place, or None, if that is not there any more."""
        module = self.module()
        parameters = () if module is None else module._parameters
        # A scripted module has no `get`.
        return parameters[self.name] if self.name in parameters else None


_first_element = operator.methodcaller("data_ptr")
"""Where the first element of a tensor is."""


def _parameters(optimizer: Any) -> List[Any]:
    """All parameters that an optimizer has."""
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _is_of_all(optimizer: Any, value: Any) -> bool:
    """Whether a tensor of an optimizer's state is for all of its parameters in one piece: LBFGS keeps such ones at the first parameter."""
    parameters = _parameters(optimizer)
    return len(parameters) > 1 and value.numel() == sum(parameter.numel() for parameter in parameters)


class _Optimizer:
    """What an optimizer had when it was last looked at."""

    def __init__(self, optimizer: Any) -> None:
        self.is_fake = any(type(parameter).__name__ == "FakeTensor" for parameter in _parameters(optimizer))
        """Whether nothing of it is in memory. PyTorch warns of who asks where such tensors are."""
        self.parameters: List[int] = []
        """The identities of its parameters."""
        self.without_layer: List[int] = []
        """The places of those among them that no module has."""
        self.parts: List[Any] = []
        """Those of them that are parts of tensors, whose gradients nobody tells of."""
        self.are_plain = False
        """Whether all of them say where they are."""
        self.places: List[int] = []
        """Where they were."""
        self.state: List[int] = []
        """Where its state was: all addresses."""
        self.states: Dict[int, List[int]] = {}
        """The same by the identity of each parameter."""


class Labels:
    """Which layer each parameter is of.

    A parameter is known by its identity. Whether it is still there, its module says: PyTorch refuses to swap a tensor that has a weak
    reference.
    """

    def __init__(self, torch: Any, watch: Watch, layer: Callable, running: Any, gradients_are_told: bool) -> None:
        self._layer = layer
        self._plain, self._strided = (torch.Tensor, torch.nn.Parameter), torch.strided
        # By identity: tensors are compared by their elements.
        self._layers: Dict[int, _Parameter] = {}
        self._handles: Dict[int, Any] = {}
        """For each parameter that gets gradients the handle of the hook by which they are told, or None if there is none."""
        self._optimizers: Dict[int, _Optimizer] = {}
        """By identity, which is found faster than a weak reference."""
        self._hook_in_python = self._hook(watch, running.label_gradient)
        self.storage, hook = running.of_tensors(self._layers) or (address, self._hook_in_python)
        self._gradient_hook = None if gradients_are_told else hook
        """What is called for each gradient; None where libtorch tells of them by itself."""

    def trace(self) -> None:
        """From now on, what is called for gradients can be traced by Dynamo, as it does where the engine is compiled."""
        self._gradient_hook = self._hook_in_python
        for identity in list(self._handles):
            parameter = self._layers[identity].tensor()
            if id(parameter) == identity:
                self._wait_for_gradient(parameter)

    def layer_of(self, parameter: Any) -> Optional[bytes]:
        """The layer of a parameter, if it has been met in a module."""
        known = self._layers.get(id(parameter))
        return known.layer if known is not None and known.tensor() is parameter else None

    def parameter(self, parameter: Any, module: Any, name: str, layer: str) -> None:
        """A parameter of a layer, which a module has by this name."""
        path = text(layer)
        label(parameter, Category.PARAMETER, path)
        if self.layer_of(parameter) is not None:
            return
        owner = weakref.ref(module)
        self._layers[id(parameter)] = _Parameter(path, self._layer(path), owner, name)
        weakref.finalize(module, self._forget, id(parameter), owner).atexit = False
        self._wait_for_gradient(parameter)

    def _wait_for_gradient(self, parameter: Any) -> None:
        """Registers a hook for the gradient of a parameter that gets one, unless libtorch tells of that by itself; once, where it has one."""
        if not (parameter.requires_grad and parameter.is_leaf):
            return
        before, hook = self._handles.get(id(parameter)), self._gradient_hook
        if before is not None:
            before.remove()
        self._handles[id(parameter)] = None if hook is None else parameter.register_post_accumulate_grad_hook(hook)

    def _forget(self, identity: int, module: Any) -> None:
        # Another module's parameter may have the identity since.
        known = self._layers.get(identity)
        if known is not None and known.module is module:
            del self._layers[identity]
            self._handles.pop(identity, None)

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

    def _optimizer(self, optimizer: Any) -> _Optimizer:
        known = self._optimizers.get(id(optimizer))
        if known is None:
            known = self._optimizers[id(optimizer)] = _Optimizer(optimizer)
            weakref.finalize(optimizer, self._optimizers.pop, id(optimizer), None).atexit = False
        return known

    def before_step(self, optimizer: Any, name_networks_of: Callable[[List[Any]], None]) -> None:
        """The gradients of parameters that have no layer. They get one by ``name_networks_of`` if a module has them."""
        known = self._optimizer(optimizer)
        if known.is_fake:
            return
        parameters = _parameters(optimizer)
        identities = list(map(id, parameters))
        unknown = known.without_layer
        if identities != known.parameters:
            unknown = [place for place, parameter in enumerate(parameters) if self.layer_of(parameter) is None]
            if unknown:
                name_networks_of([parameters[place] for place in unknown])
            known.parameters = identities
            known.without_layer = [place for place in unknown if self.layer_of(parameters[place]) is None]
            known.parts = [parameter for parameter in parameters if hasattr(parameter, "_local_tensor")]
            known.are_plain = all(map(self._is_plain, parameters))
        for parameter in known.parts:
            if parameter.grad is not None:
                label(parameter.grad, Category.GRADIENT, self.layer_of(parameter))
        for place in unknown:
            parameter = parameters[place]
            label(parameter, Category.PARAMETER, self.layer_of(parameter))
            if parameter.grad is not None:
                label(parameter.grad, Category.GRADIENT, self.layer_of(parameter))

    def _is_plain(self, parameter: Any) -> bool:
        """Whether the tensor says where it is."""
        return type(parameter) in self._plain and parameter.layout == self._strided

    def after_step(self, optimizer: Any) -> None:
        """What the optimizer keeps, and its parameters, where they are new or have moved."""
        storage, known = self.storage, self._optimizer(optimizer)
        if known.is_fake:
            return
        # A program's own optimizer may keep other things there than a dictionary for each parameter.
        held = optimizer.state.items() if isinstance(optimizer.state, dict) else ()
        states = [(parameter, state) for parameter, state in held if isinstance(state, dict)]
        everywhere = [storage(value) for _, state in states for value in state.values()]
        parameters = _parameters(optimizer)
        places = list(map(_first_element, parameters)) if known.are_plain else []
        if everywhere == known.state and places == known.places:
            return
        if everywhere != known.state:
            known.state = everywhere
            self._label_state(optimizer, known, states)
        # A program may give them other memory (`parameter.data = ...`), even that of the optimizer's state.
        for parameter in parameters if known.places else ():
            label(parameter, Category.PARAMETER, self.layer_of(parameter))
        known.places = places

    def _label_state(self, optimizer: Any, known: _Optimizer, states: List[Tuple[Any, Any]]) -> None:
        """Labels what the optimizer keeps for its parameters, where that is new or has moved."""
        storage = self.storage
        for parameter, state in states:
            places = list(map(storage, state.values()))
            if known.states.get(id(parameter)) != places:
                known.states[id(parameter)] = places
                for place, value in zip(places, state.values()):
                    if place:
                        is_own = len(states) > 1 or not _is_of_all(optimizer, value)
                        functions.label(place, Category.OPTIMIZER_STATE, self.layer_of(parameter) if is_own else None)
