"""What is told to the recording, and asked of it."""

from ._library import functions, text


class Failed(OSError):
    """A file could not be written; standard error says why."""


def is_recording() -> bool:
    """Whether this process is recorded."""
    return functions is not None and functions.is_recording()


def mark(name: str) -> None:
    """Adds a named instant to the timeline, with the bytes that are live."""
    if functions is not None:
        functions.mark(text(name))


def snapshot(name: str) -> None:
    """Adds a named instant with the table of who owns which bytes."""
    if functions is not None:
        functions.snapshot(text(name))


def fact(key: str, value: object) -> None:
    """Adds a fact about the run, such as ``"batch", 32``."""
    if functions is not None:
        functions.fact(text(key), text(str(value)))


def dump() -> bool:
    """Writes a copy of the timeline so far beside it: ``NAME.dump-1.timeline.json``, then ``-2`` and so on. False when nothing
    records.

    Raises Failed when the file cannot be written.
    """
    result = 1 if functions is None else functions.dump()
    if result > 1:
        raise Failed("the dump could not be written")
    return result == 0
