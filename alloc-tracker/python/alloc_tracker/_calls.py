"""Functions whose calls do not run through: generators and coroutines."""

from functools import wraps
from typing import Any, Callable, Optional

_GENERATOR, _COROUTINE, _ASYNC_GENERATOR = 0x20, 0x80, 0x200
"""Flags of a function's code, as the module ``inspect`` has them, whose import takes longer than this package's."""


def _resumed(scope: Callable, body: Any):
    """Runs a generator, or whatever is resumed like one, as ``yield from`` does (PEP 380), with a scope of its own around each resumption."""
    resume, argument = body.send, None
    while True:
        try:
            with scope():
                value = resume(argument)
        except StopIteration as ended:
            return ended.value
        try:
            resume, argument = body.send, (yield value)
        except GeneratorExit:
            with scope():
                body.close()
            raise
        except BaseException as error:
            resume, argument = body.throw, error


class _Awaited:
    def __init__(self, scope: Callable, body: Any) -> None:
        self._parts = scope, body

    def __await__(self):
        return _resumed(*self._parts)


def around_each_resumption(scope: Callable, function: Any) -> Optional[Callable]:
    """The function with ``scope()`` around each stretch that its body runs; None for a function whose calls run through."""
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if flags & _GENERATOR:

        @wraps(function)
        def generator(*arguments, **named):
            return (yield from _resumed(scope, function(*arguments, **named)))

        return generator
    if flags & _COROUTINE:

        @wraps(function)
        async def coroutine(*arguments, **named):
            return await _Awaited(scope, function(*arguments, **named))

        return coroutine
    if flags & _ASYNC_GENERATOR:

        @wraps(function)
        async def async_generator(*arguments, **named):
            body = function(*arguments, **named)
            resumption = body.asend(None)
            try:
                while True:
                    try:
                        value = await _Awaited(scope, resumption)
                    except StopAsyncIteration:
                        return
                    try:
                        resumption = body.asend((yield value))
                    except GeneratorExit:
                        raise
                    except BaseException as error:
                        resumption = body.athrow(error)
            finally:
                await _Awaited(scope, body.aclose())

        return async_generator
    return None
