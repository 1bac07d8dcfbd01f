"""``torch.compile``: what it does while it compiles is the phase ``compile``, and what is here stays out of what it compiles.

The regions that it has made come from libtorch itself, which tells of each as of an operator; the preloaded library makes a layer of it.
Here are the times at which Dynamo, AOTAutograd and Inductor compile on a thread of the program's. What such a thread starts meanwhile,
compilers and Inductor's workers, is not recorded.
"""

import ctypes
import functools
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any, Callable, Iterator, Sequence

from .. import _imports as imports
from .._library import functions, text
from .phases import Phases
from .safely import Watch


class _Compiling:
    """A context manager of torch's for the time in which something is compiled, within the phase."""

    def __init__(self, compiling: "Compiling", inner: Any, region: str) -> None:
        self._compiling, self._inner, self._region = compiling, inner, region
        self._end: Callable[[], None] = lambda: None

    def __enter__(self) -> Any:
        self._end = self._compiling.begin(self._region)
        try:
            return self._inner.__enter__()
        except BaseException:
            self._end()
            raise

    def __exit__(self, *error: Any) -> Any:
        try:
            return self._inner.__exit__(*error)
        finally:
            self._end()


class Compiling:
    """Enters the phase ``compile``."""

    def __init__(self, watch: Watch, phases: Phases) -> None:
        self._watch, self._phases = watch, phases
        self._has_callbacks = False
        self._follow = ctypes.PyDLL(None).alloc_tracker_follow_children
        self._follow.argtypes = [ctypes.c_bool]
        self._follow.restype = ctypes.c_bool
        # A backward graph may be compiled while the program is between two graphs.
        self.begin = watch.apart(self._begin)

    def _begin(self, region: str) -> Callable[[], None]:
        """Enters the phase, in the layer of this region if it has a name. Returns what leaves it."""
        if not self._watch.is_on or self._phases.thread.compiles:
            return lambda: None
        self._phases.thread.compiles = True
        followed = self._follow(False)
        phase = functions.enter_phase(b"compile")
        if region:
            functions.enter_layer(text(region))

        def end() -> None:
            # With all that was entered in it.
            functions.leave(phase)
            self._follow(followed)
            self._phases.thread.compiles = False

        return end

    def of_callbacks(self, module: Any) -> None:
        """``torch._dynamo.callback`` has been imported: Dynamo enters this around each compilation, and AOTAutograd where a backward
        graph is compiled when it first runs."""
        handler = getattr(module, "CompilationCallbackHandler", None)
        install = getattr(handler, "install_callbacks", None)
        if install is None:
            return
        self._has_callbacks = True

        region_of = self._watch.apart(_region_of)

        @functools.wraps(install)
        def wrapped(*args: Any, **named: Any) -> Any:
            return _Compiling(self, install(*args, **named), region_of(args))

        handler.install_callbacks = wrapped

    def of_frames(self, dynamo: Any) -> None:
        """``torch._dynamo`` has been imported. Where it has no such callbacks, as in PyTorch 2.4, the function that compiles a frame is
        told. Regions have no numbers there."""
        if self._has_callbacks:
            return

        frames = dynamo.convert_frame
        frames._compile = self._around(frames._compile, "compiled")

    def of_pools(self, module: Any) -> None:
        """``torch._inductor.compile_worker.subproc_pool`` has been imported, which starts Inductor's workers: in PyTorch 2.4 before anything
        is compiled."""
        pool = getattr(module, "SubprocPool", None)
        if pool is not None:
            pool.__init__ = self._around(pool.__init__, "")

    def _around(self, run: Callable, region: str) -> Callable:
        """The function, within the phase."""
        return self._phases.around(run, lambda: self.begin(region), lambda end, _result: end and end())

    def of_threads(self, module: Any) -> None:
        """``torch._inductor.async_compile`` has been imported, which has compilers run by threads of its own."""
        pool = getattr(module, "AsyncCompile", None)
        submit = getattr(pool, "submit", None)
        if submit is None:
            return

        @functools.wraps(submit)
        def wrapped(task: Callable) -> Any:
            def compiling() -> Any:
                end = self.begin("")
                try:
                    return task()
                finally:
                    end()

            return submit(compiling)

        pool.submit = staticmethod(wrapped)


def _region_of(callback: Sequence[Any]) -> str:
    """The layer of the region that is compiled on this thread, within the present one; empty where that is the region's already, because
    its backward graph is compiled in its node."""
    if "LAZY_BACKWARD" in str(callback[1:]):
        return ""
    try:
        number = sys.modules["torch._guards"].CompileContext.current_compile_id()
    except Exception:
        number = None
    return "compiled" if number is None else f"compiled {number}"


def codes(of: Any) -> Iterator[CodeType]:
    """The code of all functions in a module, a class or a function."""
    if isinstance(of, CodeType):
        yield of
        for constant in of.co_consts:
            yield from codes(constant)
    elif isinstance(of, FunctionType):
        yield from codes(of.__code__)
    elif isinstance(of, (ModuleType, type)):
        for value in list(vars(of).values()):
            if getattr(value, "__module__", None) == (of.__name__ if isinstance(of, ModuleType) else of.__module__):
                yield from codes(value)


def _skip(torch: Any) -> Callable[[CodeType], None]:
    """What has Dynamo run a code as it is."""
    frames = torch._C._dynamo.eval_frame
    if hasattr(frames, "skip_code"):
        return frames.skip_code
    # From 2.7 on: what Dynamo does with a frame of this code, and with those that it calls.
    strategy = frames._FrameExecStrategy(frames._FrameAction.SKIP, frames._FrameAction.DEFAULT)
    return lambda code: frames.set_code_exec_strategy(code, strategy)


def _hide(torch: Any) -> None:
    """Keeps Dynamo from compiling this package's own functions, where the program's modules call them between two graphs: they would
    count as frames of the program's. A hook within a graph is traced all the same, where it does nothing."""
    skip = _skip(torch)
    package = __name__.split(".", 1)[0] + "."
    for name, module in list(sys.modules.items()):
        if name.startswith(package):
            for code in codes(module):
                skip(code)


def tell(torch: Any, watch: Watch, phases: Phases) -> None:
    """Has the phase told, and this package hidden."""
    watch.safely(_hide)(torch)
    compiling = Compiling(watch, phases)
    for name, told in (
        ("torch._dynamo.callback", compiling.of_callbacks),
        ("torch._dynamo", compiling.of_frames),
        ("torch._inductor.async_compile", compiling.of_threads),
        ("torch._inductor.compile_worker.subproc_pool", compiling.of_pools),
    ):
        imports.after(name, watch.safely(told))
