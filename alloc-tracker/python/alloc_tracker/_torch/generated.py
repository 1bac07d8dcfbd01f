"""The code that Inductor writes: which module each of its buffers belongs to.

Inductor makes a Python function of each graph, in which one statement after the other allocates a buffer (``buf3 = empty_strided_cpu(...)``)
or runs a kernel. Its graph knows for each buffer from which operators it comes, and Dynamo has noted for each operator within which modules
it was traced (``nn_module_stack``). So the function, once it is loaded, gets a code in which the layer changes between these statements;
the file that Inductor wrote stays as it is.

Inductor takes code from its cache for a graph that it knows, and has no buffers then. So the paths are kept in a file beside the code.
"""

import ast
import functools
import json
import os
import re
import sys
import threading
import weakref
from types import CodeType, FunctionType, ModuleType
from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .. import _imports as imports
from .._library import functions, text
from .compiling import codes
from .safely import Watch

_Path = Tuple[str, str, str]
"""What the traced code calls the outermost module, the path of a module from there, and the name of its class."""

_BEGIN, _AT = "_alloc_tracker_begin", "_alloc_tracker_at"
_SIDE_FILE = ".alloc_tracker.json"
_SIDE_VERSION = 1
_ROOT = re.compile(r"[LG]\['[^']*'\]")
_PART = re.compile(r"\.?(?:_modules)?\[['\"]?([^'\"\]]+)['\"]?\]|\.([^.\[\]()]+)")


class _Thread(threading.local):
    compiles = False
    """Whether a graph is being compiled, and not taken from the cache."""


class _StandIn:
    """Stands for a module among those that run on a thread."""


def _nothing(_number: int) -> None:
    pass


def _path_of(node: Any) -> Optional[_Path]:
    """The innermost module in which an operator was traced, if any."""
    stack = node.meta.get("nn_module_stack") or node.meta.get("fwd_nn_module_stack")
    if not stack:
        return None
    written, kind = list(stack.values())[-1]
    root = _ROOT.match(written)
    if root is None:
        return None
    rest = written[root.end() :]
    if _PART.sub("", rest):
        return None
    path = ".".join(one or other for one, other in _PART.findall(rest))
    return root.group(), path, kind.rpartition(".")[2] if isinstance(kind, str) else kind.__name__


def _is_programs(node: Any) -> bool:
    return "source_fn_stack" in node.meta or "fwd_source_fn_stack" in node.meta


def _path_of_buffer(buffer: Any) -> Optional[_Path]:
    """The module of the operator that makes the buffer. Where a pass of Inductor's made that operator, of one that it stands for."""
    last = buffer.get_origin_node() if hasattr(buffer, "get_origin_node") else getattr(buffer, "origin_node", None)
    path = None if last is None else _path_of(last)
    if path is not None or (last is not None and _is_programs(last)):
        return path
    return next(filter(None, map(_path_of, _last_first(getattr(buffer, "origins", ())))), None)


def _last_first(origins: Any) -> Iterable[Any]:
    """The operators that a buffer is made from, the last first, as Inductor has them; in PyTorch 2.4 it has them in no order."""
    if type(origins) is not set or not origins:
        return origins
    return [node for node in reversed(next(iter(origins)).graph.nodes) if node in origins]


class _Rewriting:
    """Puts the changes of layer into functions."""

    def __init__(self, paths: Dict[str, Optional[_Path]]) -> None:
        self._paths = paths
        self.modules: List[_Path] = []
        """The modules whose layers the functions enter. A function names one by its number in this list."""

    def _number(self, path: Optional[_Path]) -> int:
        """The number of a module; -1 for none."""
        if path is None:
            return -1
        if path not in self.modules:
            self.modules.append(path)
        return self.modules.index(path)

    def _buffer(self, statement: ast.stmt) -> Optional[str]:
        """The buffer to which a statement gives a value."""
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            name = statement.targets[0].id
            return name if name in self._paths else None
        return None

    def _changes(self, body: List[ast.stmt]) -> Iterator[ast.stmt]:
        for statement in body:
            if isinstance(statement, (ast.With, ast.If)):
                statement.body = list(self._changes(statement.body))
            buffer = self._buffer(statement)
            if buffer is not None:
                yield _statement(f"{_AT}({self._number(self._paths[buffer])})", statement)
            yield statement

    def function(self, function: ast.FunctionDef) -> bool:
        """Changes a function. Returns whether it has any buffer."""
        if not any(self._buffer(statement) for statement in ast.walk(function) if isinstance(statement, ast.stmt)):
            return False
        first = function.body[0]
        told = ast.Try(body=list(self._changes(function.body)), handlers=[], orelse=[], finalbody=[_statement(f"{_AT}(-1)", first)])
        function.body = [_statement(f"{_AT} = {_BEGIN}()", first), ast.copy_location(told, first)]
        return True


def _statement(source: str, where: ast.stmt) -> ast.stmt:
    """A statement that stands in the line of another."""
    made = ast.parse(source).body[0]
    for node in ast.walk(made):
        ast.copy_location(node, where)
    return made


def _functions(module: ModuleType) -> Iterator[FunctionType]:
    for value in list(vars(module).values()):
        yield from (one for one in [value, *(vars(value).values() if isinstance(value, type) else ())] if isinstance(one, FunctionType))


def _key(code: CodeType) -> Tuple[str, int]:
    return code.co_name, code.co_firstlineno


class Generated:
    """Has the functions that Inductor writes tell of layers."""

    def __init__(self, watch: Watch, library: Any, running: Any, layers: Any) -> None:
        self._watch, self._running, self._layers = watch, running, layers
        self._active_layer = library.active_layer
        self._roots: Dict[int, Any] = {}
        """By the number of a region's layer: the module that runs it, weakly. Its backward pass runs in none."""
        self._is_on, self._thread = True, _Thread()
        self._has_said_so = False
        """Whether the program's user knows of code without paths."""

    def softly(self, tell: Callable) -> Callable:
        """What tells, out of Dynamo's sight. It never raises: after an error, all compiled code belongs to its region."""
        apart = self._watch.apart(tell)

        def wrapped(*args: Any) -> None:
            if not self._is_on or not self._watch.is_on:
                return
            try:
                apart(*args)
            except Exception as error:
                self._end(error)

        return wrapped

    def _end(self, error: Exception) -> None:
        self._is_on = False
        why = f"{type(error).__name__}: {error}"
        functions.fact(b"compiled_code", text(f"not told: {why}"))
        print(f"alloc_tracker: modules within compiled regions are not told from here on: {why}", file=sys.stderr)

    def of_graphs(self, module: Any) -> None:
        """``torch._inductor.graph`` has been imported, which compiles each graph to a module of Python's."""
        lowering = module.GraphLowering
        compile_graph = lowering.compile_to_module
        tell = self.softly(self._compiled)

        @functools.wraps(compile_graph)
        def wrapped(graph: Any) -> Any:
            before, self._thread.compiles = self._thread.compiles, True
            try:
                made = compile_graph(graph)
            finally:
                self._thread.compiles = before
            tell(graph, made)
            return made

        lowering.compile_to_module = wrapped

    def of_loading(self, module: Any) -> None:
        """``torch._inductor.codecache`` has been imported, which loads that module, new or as it was written before."""
        cache = module.PyCodeCache
        load = cache.load_by_key_path
        tell = self.softly(self._loaded)

        @functools.wraps(load)
        def wrapped(*args: Any, **named: Any) -> Any:
            made = load(*args, **named)
            tell(made)
            return made

        cache.load_by_key_path = staticmethod(wrapped)

    def _compiled(self, graph: Any, module: Any) -> None:
        file = getattr(module, "__file__", None)
        if not isinstance(module, ModuleType) or not file:
            return
        paths = {name: _path_of_buffer(buffer) for name, buffer in graph.name_to_buffer.items()}
        temporary = f"{file}.{os.getpid()}{_SIDE_FILE}"
        try:
            with open(temporary, "w", encoding="utf-8") as side_file:
                json.dump({"version": _SIDE_VERSION, "buffers": paths}, side_file)
            os.replace(temporary, file + _SIDE_FILE)
        except OSError:
            # Of what is taken from the cache later, the layers are not told.
            pass
        self._tell(module, file, paths)

    def _loaded(self, module: Any) -> None:
        file = getattr(module, "__file__", None)
        if self._thread.compiles or not file or not hasattr(module, "call"):
            return
        try:
            with open(file + _SIDE_FILE, encoding="utf-8") as side_file:
                kept = json.load(side_file)
        except (OSError, ValueError):
            self._say_so()
            return
        if kept["version"] == _SIDE_VERSION:
            self._tell(module, file, {name: path and tuple(path) for name, path in kept["buffers"].items()})

    def _say_so(self) -> None:
        if self._has_said_so:
            return
        self._has_said_so = True
        why = "code in Inductor's cache that was compiled without the recorder"
        functions.fact(b"compiled_code", text(f"not told: {why}"))
        advice = "to have its modules told, set TORCHINDUCTOR_CACHE_DIR to an empty folder"
        print(f"alloc_tracker: the program runs {why}; {advice}", file=sys.stderr)

    def _tell(self, module: ModuleType, file: str, paths: Dict[str, Optional[_Path]]) -> None:
        """Gives the functions of a module their new code."""
        if not any(paths.values()):
            return
        with open(file, encoding="utf-8") as source:
            tree = ast.parse(source.read(), file)
        rewriting = _Rewriting(paths)
        of_classes = (inner for outer in tree.body if isinstance(outer, ast.ClassDef) for inner in outer.body)
        functions = [one for one in [*tree.body, *of_classes] if isinstance(one, ast.FunctionDef)]
        names = {function.name for function in functions if rewriting.function(function)}
        # A function of several networks is a region and no more: their modules may have the same paths.
        if not names or len({root for root, _, _ in rewriting.modules}) != 1:
            return
        rewritten = {_key(code): code for code in codes(compile(tree, file, "exec")) if code.co_name in names}
        vars(module)[_BEGIN] = functools.partial(self._begin, rewriting.modules, {})
        for function in _functions(module):
            code = rewritten.get(_key(function.__code__))
            if code is not None and function.__code__.co_filename == file and not code.co_freevars:
                function.__code__ = code

    def _begin(self, paths: List[_Path], known: Dict[int, List[Optional[_StandIn]]]) -> Callable[[int], None]:
        """A function begins. Returns what enters the layer of the module with that number, and for -1 none."""
        if not self._is_on or not self._watch.is_on:
            return _nothing
        try:
            region = self._active_layer()
            modules = known.get(region)
            if modules is None:
                root = self._root(region, paths)
                if root is None:
                    return _nothing
                modules = known[region] = [self._stand_in(root, path) for path in paths]
        except Exception as error:
            self._end(error)
            return _nothing
        return _changing(modules, self._running.enter, self._running.leave)

    def _root(self, region: int, paths: List[_Path]) -> Optional[Any]:
        """The module whose code a region is: the one that runs, or else, for a compiled function, the only network with such modules."""
        running = self._layers.module(self._running.innermost())
        if running is not None:
            root = _traced(running)
        else:
            root = self._roots.get(region, lambda: None)()
        if root is None:
            networks = map(_traced, self._layers.networks())
            having = [network for network in networks if all(_module(network, path) is not None for path in paths)]
            root = having[0] if len(having) == 1 else None
        if root is not None:
            self._roots[region] = weakref.ref(root)
        return root

    def _stand_in(self, root: Any, path: _Path) -> Optional[_StandIn]:
        """What stands for the module at this path, if it has a layer."""
        named = self._running.paths.get(id(_module(root, path)))
        if named is None:
            return None
        stand_in, paths = _StandIn(), self._running.paths
        paths[id(stand_in)] = named
        weakref.finalize(stand_in, paths.pop, id(stand_in), None).atexit = False
        return stand_in


def _traced(module: Any) -> Any:
    """The module itself, or the one that `torch.compile` put it around."""
    return module._modules.get("_orig_mod", module)


def _module(root: Any, path: _Path) -> Optional[Any]:
    """The module at this path; None where there is none of this class."""
    _, parts, kind = path
    module = root
    for part in parts.split(".") if parts else ():
        module = module._modules.get(part)
        if module is None:
            return None
    return module if type(module).__name__ == kind else None


def _changing(modules: List[Optional[_StandIn]], enter: Callable, leave: Callable) -> Callable[[int], None]:
    """What leaves the layer that it has entered before, and enters that of the module with a number, for one run of a function."""
    active: Optional[_StandIn] = None

    def at(number: int) -> None:
        nonlocal active
        module = modules[number] if number >= 0 else None
        if module is active:
            return
        if active is not None:
            leave(active)
        active = module
        if module is not None:
            enter(module, True)

    return at


def tell(watch: Watch, library: Any, running: Any, layers: Any) -> None:
    """Has them tell from now on."""
    generated = Generated(watch, library, running, layers)
    for name, told in (
        ("torch._inductor.graph", generated.of_graphs),
        ("torch._inductor.codecache", generated.of_loading),
    ):
        imports.after(name, generated.softly(told))
