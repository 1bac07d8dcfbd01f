"""The layers of a network: a module's forward pass is a scope with the module's path."""

import itertools
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from .._blocks import Category
from .._library import functions, text
from .labels import Labels, label
from .phases import Phases
from .safely import Watch
from .tensors import PLAIN, address, has_graph, tensors, values


_DEEP = 100
"""How many modules within each other are looked at, so that a circle of them has an end."""


def _is_graph(module: Any) -> bool:
    """Whether it is a graph as `torch.compile` makes it. That is no layer: what runs it is one."""
    is_graph = any(kind.__name__ == "GraphModule" for kind in type(module).__mro__)
    return is_graph and (not module._modules or hasattr(module, "compile_subgraph_reason"))


def _is_parametrization_list(module: Any) -> bool:
    """Whether it is the list of a parameter's parametrizations (torch.nn.utils.parametrize)."""
    return any(kind.__name__ == "ParametrizationList" for kind in type(module).__mro__)


def _has_parameters(network: Any) -> bool:
    """Whether any module of it has a parameter."""
    return any(parameter is not None for _, part in _parts(network) for parameter in part._parameters.values())


def _kind(network: Any) -> str:
    """The name of its type; of the type of the one that `torch.compile` has put a module around."""
    parts = getattr(network, "_modules", ())
    # That of a scripted module has no `get`.
    return type(parts["_orig_mod"] if "_orig_mod" in parts else network).__name__


def _gets_gradients(network: Any, requires_grad: Callable[[Any], bool]) -> bool:
    """Whether any parameter of it gets gradients, as ``requires_grad`` says of each."""
    for _, part in _parts(network):
        # `DataParallel` copies modules to other devices. Such a copy has its parameters there, and none in `_parameters`.
        if vars(part).get("_former_parameters"):
            return True
        if any(parameter is not None and requires_grad(parameter) for parameter in part._parameters.values()):
            return True
    return False


def _parts(network: Any, path: str = "", met: Optional[Set[int]] = None) -> Iterator[Tuple[str, Any]]:
    """What ``torch.nn.Module.named_modules`` gives, which a program's class may do in another way."""
    met = set() if met is None else met
    if id(network) in met:
        return
    met.add(id(network))
    yield path, network
    for name, part in network._modules.items():
        if part is not None:
            yield from _parts(part, f"{path}.{name}" if path else name, met)


class _Thread(threading.local):
    def __init__(self) -> None:
        self.inputs: Set[int] = set()
        """Where the storages of the outermost's arguments begin."""
        self.phase: Any = None
        """The phase of the outermost, if it has one of its own."""
        self.learns = False
        """Whether the outermost may need a backward pass."""


class Layers:
    """Enters and leaves the layers of all modules."""

    def __init__(self, torch: Any, layer: Callable, running: Any, labels: Labels, phases: Phases, storages_are_told: bool) -> None:
        self._torch, self._labels, self._phases = torch, labels, phases
        self._layer, self._running, self._paths = layer, running, running.paths
        self._storages_are_told = storages_are_told
        functorch = getattr(torch._C, "_functorch", None)
        self._level = getattr(functorch, "maybe_current_level", lambda: None)
        """The level of the transformation that runs, such as `torch.func.vmap`; None where none does."""
        self._is_wrapped = getattr(functorch, "is_functorch_wrapped_tensor", lambda _tensor: False)
        self._unwrapped = getattr(functorch, "get_unwrapped", lambda tensor: tensor)
        self._thread = _Thread()
        self._modules: Dict[int, Any] = {}
        """By identity: each module that has a path, weakly."""
        self._owners: Dict[int, Any] = {}
        """By identity: the module of which each is a part, weakly."""
        self._prefixes: Dict[int, str] = {}
        """By identity: what the paths of each network begin with."""
        self._named: Set[int] = set()
        """The identities of the networks of which all parts are labelled. One whose parameters get their sizes in a first pass is not yet."""
        self._holders: Dict[int, Any] = {}
        """By identity: the modules that have parameters of their own, weakly."""
        self._networks = 0
        self._has_hooks = False
        """Whether hooks tell of modules, which are not given what has a name."""

    def registered(self, module: Any, _name: str, part: Any) -> None:
        """A module becomes a part of another."""
        if part is None:
            return
        # A program may set the same part again in every step.
        if id(part) not in self._owners:
            weakref.finalize(part, self._owners.pop, id(part), None).atexit = False
        self._owners[id(part)] = weakref.ref(module)

    def given(self, module: Any, tensor: Any, category: Category) -> None:
        """A module gets a parameter or a buffer. One that has no layer yet gets it with its network's first pass."""
        layer = self._paths.get(id(module))
        label(tensor, category, None if layer is None else text(layer[0]))
        if category is Category.PARAMETER:
            self._holds(module)
            if not self._running.innermost():
                # What comes after a forward pass is no loss where a network is made.
                self._phases.end_loss()

    def _holds(self, module: Any) -> None:
        """A module has a parameter."""
        if id(module) not in self._holders:
            weakref.finalize(module, self._holders.pop, id(module), None).atexit = False
            self._holders[id(module)] = weakref.ref(module)

    def name_networks_of(self, parameters: List[Any]) -> None:
        """Names the networks of parameters that an optimizer has and no module that has a path: a compiled function calls no module, and a program
        may change a network after its first pass."""
        sought = set(map(id, parameters))
        holders = [holder for holder in (known() for known in list(self._holders.values())) if holder is not None]
        wholes = {id(whole): whole for whole in map(self._whole, holders)}
        for whole in wholes.values():
            if any(id(parameter) in sought for _, part in _parts(whole) for parameter in part._parameters.values()):
                self._name(whole)

    def networks(self) -> Iterable[Any]:
        """All networks whose modules have paths."""
        return [network for network in map(self.module, list(self._named)) if network is not None]

    def _whole(self, module: Any) -> Any:
        """The outermost module that this one is a part of. It may never be called, as Lightning's are, of which a method calls the
        parts."""
        for _ in range(_DEEP):
            owned = self._owners.get(id(module))
            owner = None if owned is None else owned()
            if owner is None:
                return module
            module = owner
        return module

    def around(self, call: Callable, watch: Watch) -> Optional[Callable]:
        """A method that does what ``call`` does, PyTorch's call of a module, with the module's layer around it; ``None`` where there can be
        none. Dynamo cannot trace it."""
        if not self._storages_are_told:
            # What a module returns is labelled by a hook.
            return None
        # Where nothing is told, the first enters no module, and so is called for each module within as well.
        return self._running.around(call, watch.safely(self._begin), watch.guarded(self._end_network), self._torch.nn.Module)

    def hooks(self, watch: Watch) -> Tuple[Callable, Callable]:
        """What is called before and after each module's forward pass. Neither ever raises.

        A small module takes few microseconds, so each has one Python function, in which what all calls need is a local variable.
        `torch.compile` traces Python's functions, and so finds that these do nothing while it does.
        """
        self._has_hooks = True
        enter, leave, is_compiling = self._running.enter, self._running.leave, watch.is_compiling
        begin, end_network = watch.apart(self._begin), watch.apart(self._end_network)
        outputs = None if self._storages_are_told else watch.apart(self._outputs)

        def before(module: Any, args: Any) -> None:
            if is_compiling() or not watch.is_on:
                return
            try:
                if not enter(module):
                    begin(module, *args)
            except Exception as error:
                watch.end(error)

        def after(module: Any, args: Any, result: Any) -> None:
            # It may have ended by an exception: then `result` is None.
            if is_compiling() or not watch.is_on:
                return
            try:
                if outputs is not None:
                    outputs(result)
                if leave(module):
                    end_network() if result is None else end_network(result)
            except Exception as error:
                watch.end(error)

        return before, after

    def _begin(self, module: Any, *args: Any) -> None:
        """A module begins that is the outermost, or has no path yet."""
        if self._phases.thread.compiles:
            # Dynamo tries the parts of a graph, up to PyTorch 2.4 as modules that it has copied.
            return
        if id(module) not in self._paths and (_is_graph(module) or _is_graph(self._whole(module))):
            twin = self._twin(module)
            if twin is None:
                return
            self._call(module, twin)
        outer = self._paths.get(self._running.innermost())
        if id(module) not in self._paths and _is_parametrization_list(self._whole(module)):
            # No module has it: PyTorch tries it, before it is a part of a network.
            return
        if outer is None:
            self._begin_network(module, args)
        elif id(module) not in self._paths:
            whole = self._whole(module)
            around = self._whole(self.module(self._running.innermost()))
            is_alone = whole is module and around is not None and _has_parameters(module)
            if is_alone and any(part is module for _, part in _parts(around)):
                # One that was put there without PyTorch's telling, as `ModuleList.insert` does.
                whole = around
            if id(whole) in self._named or _has_parameters(whole):
                # A module that has become a part of the network after the first pass, or a network that is no part of the one that uses it.
                self._name(whole)
            if id(module) not in self._paths:
                # One that is no attribute of another.
                self._call(module, f"{outer[0]}.{type(module).__name__}")
        self._running.enter(module, True)

    def _twin(self, module: Any) -> Optional[str]:
        """The layer of a module that has the same attributes. Dynamo up to PyTorch 2.4 has such ones in its graphs, one for each module of the
        program's."""
        twins = (known for known in list(self._modules) if getattr(self.module(known), "__dict__", None) is module.__dict__)
        return next((self._paths[known][0] for known in twins), None)

    def _outputs(self, result: Any) -> None:
        for tensor in tensors(self._torch, result):
            # What a network only passes on stays what it is.
            whole = tensor._base if tensor._is_view() else tensor
            if not isinstance(whole, self._torch.nn.Parameter) and address(tensor) not in self._thread.inputs:
                label(tensor, Category.ACTIVATION)

    def _begin_network(self, module: Any, args: Any) -> None:
        whole = self._whole(module)
        if id(whole) not in self._named:
            self._name(whole)
        if id(module) not in self._paths:
            # It is no part of that any more.
            self._name(module)
        if self._phases.is_in_backward():
            # A checkpoint computes again. That is part of the backward pass.
            return
        if self._thread.phase is not None:
            # A signal's handler has raised while that began.
            functions.leave(self._thread.phase)
        given = list(tensors(self._torch, args))
        if not self._storages_are_told:
            self._thread.inputs = {address(tensor) for tensor in given}
        self._label_inputs(given)
        self._thread.learns = self._torch.is_grad_enabled() and self._may_learn(whole, args, given)
        if self._thread.learns:
            self._phases.begin_step()
            is_loss = isinstance(module, self._torch.nn.modules.loss._Loss)
            self._thread.phase = self._phases.enter(b"loss" if is_loss else b"forward")
        elif not self._torch.is_grad_enabled() or _has_parameters(whole):
            self._thread.phase = self._phases.enter(b"infer")
        # Others are no networks, but transforms of data, say, in whatever phase the program is.

    def _may_learn(self, network: Any, args: Any, given: List[Any]) -> bool:
        """Whether a backward pass may come to what the network makes of these arguments, in which these tensors were found."""
        if _gets_gradients(network, self._requires_grad) or any(map(self._requires_grad, given)):
            return True
        if not _has_parameters(network):
            # One that is no network, or keeps one where PyTorch does not look.
            kept = (value for _, part in _parts(network) for name, value in vars(part).items() if name != "_modules")
            hidden = (value for one in kept for value in values(one) if isinstance(value, self._torch.nn.Module))
            return any(_gets_gradients(network, self._requires_grad) for network in hidden)
        # A frozen one, of which that is sure only where all that it is given can be seen.
        return self._has_hooks or not given or not all(isinstance(one, (self._torch.Tensor, *PLAIN)) for one in args)

    def _requires_grad(self, tensor: Any) -> bool:
        """Whether a tensor gets gradients. Within `torch.func.vmap`, PyTorch says that of the tensor in which it has put all of them together."""
        while not tensor.requires_grad:
            if self._level() is None or not self._is_wrapped(tensor):
                return False
            tensor = self._unwrapped(tensor)
        return True

    def _end_network(self, *result: Any) -> None:
        """The outermost module has ended, with this result; with none where it has raised."""
        phase, self._thread.phase = self._thread.phase, None
        if phase is None:
            return
        functions.leave(phase)
        if result and self._thread.learns and self._torch.is_grad_enabled():
            self._phases.begin_loss()

    def _name(self, network: Any) -> None:
        """Names all modules of a network by their paths, and labels what they have. The paths of a second network begin with the
        name of its type, and with a number where there is one of this type already."""
        is_whole = True
        kind = _kind(network)
        parts = list(_parts(network))
        prefix = self._prefixes.get(id(network))
        if prefix is None:
            has_parameters = _has_parameters(network)
            prefix = self._free_prefix(kind) if has_parameters and self._networks else ""
            self._prefixes[id(network)] = prefix
            self._networks += has_parameters
        owned: Dict[int, str] = {}
        for path, module in parts:
            layer = self._layer_at(prefix, path, module)
            if id(module) not in self._paths:
                self._call(module, layer)
            is_whole = self._label(module, layer, owned) and is_whole
        if is_whole:
            self._named.add(id(network))

    def _free_prefix(self, kind: str) -> str:
        """The first prefix that no living network has. The paths of the first network have none, but the layer of its outermost module is its type."""
        known = list(self._prefixes.items())
        taken = {prefix or f"{_kind(self.module(identity))}." for identity, prefix in known}
        names = itertools.chain([f"{kind}."], (f"{kind}#{number}." for number in itertools.count(2)))
        return next(name for name in names if name not in taken)

    def moved(self, module: Any) -> None:
        """What a module has may lie elsewhere since. One that has no layer yet gets one later."""
        known = self._paths.get(id(module))
        if known is not None:
            self._label(module, known[0], {})

    def _label(self, module: Any, layer: str, owned: Dict[int, str]) -> bool:
        """Labels what a module has itself; ``owned`` are the parameters that others have. Returns whether there is memory for all of it."""
        is_whole = True
        for name, parameter in module._parameters.items():
            if parameter is None:
                continue
            if self._torch.nn.parameter.is_lazy(parameter):
                is_whole = False
            else:
                self._labels.parameter(parameter, module, name, owned.setdefault(id(parameter), layer))
        for buffer in module._buffers.values():
            if buffer is not None:
                label(buffer, Category.BUFFER, text(layer))
        return is_whole

    def _layer_at(self, prefix: str, path: str, module: Any) -> str:
        """The layer of a module at this path. `torch.compile` puts a module around the one that it compiles, which keeps its name."""
        own = ".".join(part for part in path.split(".") if part != "_orig_mod")
        return prefix + own if own else prefix[:-1] or _kind(module)

    def _call(self, module: Any, path: str) -> Tuple[str, int]:
        named = self._paths[id(module)] = path, self._layer(text(path))
        self._modules[id(module)] = weakref.ref(module)
        weakref.finalize(module, self._forget, id(module)).atexit = False
        return named

    def _forget(self, module: int) -> None:
        # Two threads that met it at once have each seen to its end.
        self._paths.pop(module, None)
        self._modules.pop(module, None)
        self._named.discard(module)
        self._prefixes.pop(module, None)

    def module(self, identity: int) -> Optional[Any]:
        """The module that ``id`` gives this for, if it has a path."""
        return self._modules.get(identity, lambda: None)()

    def inputs(self, value: Any) -> None:
        """Tensors that come from outside."""
        self._label_inputs(tensors(self._torch, value))

    def _label_inputs(self, given: Iterable[Any]) -> None:
        plain, parameter = self._torch.Tensor, self._torch.nn.Parameter
        for tensor in given:
            # Most inputs are plain tensors. Of others PyTorch says in Python, which takes longer, whether they are parameters.
            if not has_graph(tensor) and (type(tensor) is plain or not isinstance(tensor, parameter)):
                label(tensor, Category.INPUT, storage=self._labels.storage)
