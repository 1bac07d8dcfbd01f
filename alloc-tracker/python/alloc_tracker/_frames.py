"""Python's frames in sampled stacks: the library reads them at each sample, where a table says that this version has them.

The table is believed if it is right here and now: for functions, generators, comprehensions and callbacks from C, the library must see
the frames that Python itself tells of.
"""

import ctypes
import sys
from types import FrameType
from typing import Any, Callable, List, Optional, Tuple

from ._library import functions

_Row = Tuple[str, str, int]
"""Function, file, line."""


class _NotTold(Exception):
    """Says why frames are not told."""


def _told_by_python(frame: Optional[FrameType]) -> List[_Row]:
    rows = []
    while frame is not None:
        code = frame.f_code
        name = getattr(code, "co_qualname", code.co_name)
        rows.append((_whole(name), _whole(code.co_filename), frame.f_lineno or 0))
        frame = frame.f_back
    return rows


def _whole(text: str) -> str:
    """Text in which half a character is replaced, as the library does."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _compare(frame: FrameType, looked: Optional[bytes], outermost: Optional[bool]) -> None:
    """``looked`` must be what the library saw in ``frame``, of which is known whether C called it."""
    parts = (looked or b"").decode("utf-8", "replace").split("\x1f")[:-1]
    told = [(parts[at], parts[at + 1], int(parts[at + 2])) for at in range(0, len(parts), 4)]
    # A look tells of so many frames at most.
    if not told or told != _told_by_python(frame)[: len(told)]:
        raise _NotTold("the self-test failed")
    if outermost is not None and parts[3] != str(int(outermost)):
        raise _NotTold("the self-test failed: it is not known which frames C called")


def _trial(look: Callable[[], Optional[bytes]]) -> None:
    # Up to 3.10, C runs each function by a call of its own.
    each = sys.version_info < (3, 11)

    def plain(left: int) -> None:
        if left:
            return plain(left - 1)
        _compare(sys._getframe(), look(), each)

    def generator() -> Any:
        yield 1
        _compare(sys._getframe(), look(), None)
        yield 2

    def key(_: int) -> int:
        _compare(sys._getframe(), look(), True)
        return 0

    class Owner:
        def method(self) -> None:
            sorted([2, 1], key=key)
            [_compare(sys._getframe(), look(), None) for _ in range(2)]

    plain(0)
    plain(3)
    list(generator())
    for _ in generator():
        Owner().method()
    exec(compile("\n" * 300 + "compare(frame(), look(), True)", "<\u00e4\u4f60>", "exec"),
         {"compare": _compare, "frame": sys._getframe, "look": look})


def _tell() -> None:
    """Has frames told from now on, where stacks are sampled."""
    if functions is None:
        return
    try:
        library = ctypes.PyDLL(None)
        begin, look, tell = (
            getattr(library, "alloc_tracker_python_" + name) for name in ("begin", "look", "tell")
        )
    except AttributeError:
        # The recorder samples no stacks, or is older than this package.
        return
    begin.argtypes, begin.restype, look.restype, tell.restype = [ctypes.c_uint32], ctypes.c_char_p, ctypes.c_char_p, None
    try:
        if sys.implementation.name != "cpython":
            raise _NotTold("this is known for CPython")
        why = begin(sys.hexversion)
        if why == b"":
            return
        if why is not None:
            raise _NotTold(why.decode())
        _trial(look)
        tell()
        fact = "told"
    except _NotTold as error:
        fact = f"not told: {error}"
    except Exception as error:
        fact = f"not told: {type(error).__name__}: {error}"
    functions.fact(b"python_frames", fact.encode("utf-8", "replace"))


# Here, so that it happens once.
_tell()
