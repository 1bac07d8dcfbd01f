"""All of it installed, as soon as torch is imported."""

import sys
from typing import Any

from .. import _imports as imports
from .._blocks import Category
from .._library import functions


def install(torch: Any) -> None:
    """Has torch tell of modules, backward passes, optimizers and loaders."""
    import torch.optim.optimizer as optimizers
    import torch.utils.data.dataloader as loading

    from . import library
    from .calls import Calls
    from .labels import Labels
    from .layers import Layers
    from .operators import GRADIENTS, STORAGES, tell
    from .phases import Phases
    from .running import running
    from .safely import Watch
    from .shared import watch_shared

    torch_functions = library.find()
    told = tell(torch, torch_functions)
    watch, modules_run = Watch(torch), running(torch_functions)
    labels = Labels(torch, watch, torch_functions.layer, modules_run, bool(told & GRADIENTS))
    phases = Phases(torch, watch, torch_functions)
    layers = Layers(torch, torch_functions.layer, modules_run, labels, phases, bool(told & STORAGES))

    def registered(category: Category) -> Any:
        def hook(module: Any, _name: str, tensor: Any) -> None:
            if tensor is not None:
                layers.given(module, tensor, category)

        return watch.safely(hook)

    def before_step(optimizer: Any, _args: Any, _named: Any) -> None:
        labels.before_step(optimizer, layers.name_networks_of)
        frame = sys._getframe()
        while frame is not None and frame.f_code.co_filename != optimizers.__file__:
            frame = frame.f_back
        phases.begin_optimizer(frame)

    def after_step(optimizer: Any, _args: Any, _named: Any) -> None:
        labels.after_step(optimizer)
        phases.end_optimizer()
        phases.end_step()

    modules = torch.nn.modules.module
    Calls(torch, watch, layers, labels).tell()
    modules.register_module_module_registration_hook(watch.safely(layers.registered))
    modules.register_module_parameter_registration_hook(registered(Category.PARAMETER))
    modules.register_module_buffer_registration_hook(registered(Category.BUFFER))
    optimizers.register_optimizer_step_pre_hook(watch.safely(before_step))
    optimizers.register_optimizer_step_post_hook(watch.safely(after_step))
    _tell_backward(torch, phases)
    iterator = loading._BaseDataLoaderIter
    iterator.__next__ = phases.in_data(iterator, layers.inputs)
    _tell_moved(torch, watch, layers, phases)
    watch_shared(torch, watch, phases)
    _before_compiling(torch, watch, torch_functions, modules_run, layers, phases)
    functions.fact(b"torch", torch.__version__.encode())


def _tell_backward(torch: Any, phases: Any) -> None:
    """Has backward passes told: by the method of the engine that PyTorch's functions call, so that those stay what they are."""
    owner = torch.autograd.Variable
    engine = type(getattr(owner, "_execution_engine", None))
    if hasattr(engine, "run_backward"):
        told = {"run_backward": phases.in_backward(engine.run_backward)}
        owner._execution_engine = type(engine.__name__, (engine,), told)()
    else:
        torch.autograd.backward = phases.in_backward(torch.autograd.backward)
        torch.autograd.grad = phases.in_backward(torch.autograd.grad)


def _tell_moved(torch: Any, watch: Any, layers: Any, phases: Any) -> None:
    """Has told what ``half()``, ``to()`` and others do, which give parameters other memory: by the method that they all call for each module."""
    from .phases import APPLY

    modules, moved = torch.nn.Module, watch.safely(layers.moved)

    def end(_begun: Any, module: Any) -> None:
        if module is not None:
            moved(module)

    modules._apply = phases.around(modules._apply, lambda: None, end, (APPLY, modules))


def _before_compiling(
    torch: Any, watch: Any, torch_functions: Any, modules_run: Any, layers: Any, phases: Any
) -> None:
    """Has compilations told, and this package hidden from them, once a part of torch is imported that compiles. Most programs import
    none."""
    is_told = False

    def tell(_module: Any) -> None:
        nonlocal is_told
        if is_told:
            return
        is_told = True
        from . import compiling, generated

        generated.tell(watch, torch_functions, modules_run, layers)
        compiling.tell(torch, watch, phases)

    for name in ("torch._dynamo", "torch._inductor"):
        imports.after(name, watch.safely(tell))


def _install(torch: Any) -> None:
    """Has torch watched, if that is possible. The program goes on in any case."""
    try:
        install(torch)
    except Exception as error:
        print(f"alloc_tracker: PyTorch's modules are not told: {type(error).__name__}: {error}", file=sys.stderr)


def watch() -> None:
    """Waits for torch to be imported, in a process that is recorded."""
    if functions is not None:
        imports.after("torch", _install)
