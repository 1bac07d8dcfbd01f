"""Functions whose calls do not run through: generators and coroutines."""

from functools import wraps
from typing import Any, Callable, Optional

_GENERATOR, _COROUTINE, _ITERABLE_COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x100, 0x200
"""Flags of a function's code, as the module ``inspect`` has them, whose import takes longer than this package's."""


def _resumed(scope: Callable, body: Any):
    """Runs a generator, or whatever is resumed like one, as ``yield from`` does (PEP 380), with a scope of its own around each resumption.

    What goes in and comes out is handed on from lists, so that nothing here keeps it alive: it may be a batch.
    """
    resume, given = body.send, [None]
    while True:
        try:
            with scope():
                made = [resume(given.pop())]
        except StopIteration as ended:
            return ended.value
        try:
            given = [(yield made.pop())]
            resume = body.send
        except GeneratorExit:
            with scope():
                body.close()
            raise
        except BaseException as error:
            resume, given = body.throw, [error]


class _Awaited:
    """What an ``await`` resumes as `_resumed` does."""

    def __init__(self, scope: Callable, body: Any) -> None:
        self._parts = scope, body

    def __await__(self):
        return _resumed(*self._parts)


def _flags(function: Any) -> int:
    """The flags of its code; none for what `types.coroutine` makes, a generator that can be awaited."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    return 0 if flags & _ITERABLE_COROUTINE else flags


def around_whole_run(scope: Callable, function: Any) -> Optional[Callable]:
    """The function with ``scope()`` around all that its body runs, and waits; None for a function whose calls run through, and for a generator
    that is asynchronous."""
    flags = _flags(function)
    if flags & _GENERATOR:

        @wraps(function)
        def generator(*arguments, **named):
            with scope():
                return (yield from function(*arguments, **named))

        return generator
    if flags & _COROUTINE:

        @wraps(function)
        async def coroutine(*arguments, **named):
            with scope():
                return await function(*arguments, **named)

        return coroutine
    return None


def around_each_resumption(scope: Callable, function: Any) -> Optional[Callable]:
    """The function with ``scope()`` around each stretch that its body runs; None for a function whose calls run through."""
    flags = _flags(function)
    if flags & _GENERATOR:

        @wraps(function)
        def generator(*arguments, **named):
            body = function(*arguments, **named)
            del arguments, named
            return (yield from _resumed(scope, body))

        return generator
    if flags & _COROUTINE:

        @wraps(function)
        async def coroutine(*arguments, **named):
            body = function(*arguments, **named)
            del arguments, named
            return await _Awaited(scope, body)

        return coroutine
    if flags & _ASYNC_GENERATOR:

        @wraps(function)
        async def async_generator(*arguments, **named):
            body = function(*arguments, **named)
            del arguments, named
            resumption = body.asend(None)
            try:
                while True:
                    try:
                        made = [await _Awaited(scope, resumption)]
                    except StopAsyncIteration:
                        return
                    try:
                        resumption = body.asend((yield made.pop()))
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        resumption = body.athrow(error)
            finally:
                await _Awaited(scope, body.aclose())

        return async_generator
    return None
