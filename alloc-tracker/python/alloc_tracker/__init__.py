"""Who owns the memory of a Python program: names its layers, phases and steps for alloc-tracker.

Run the program under the recorder, which comes with this package::

    alloc-tracker record -- python train.py
    python -m alloc_tracker train.py          # the same

and name what should be told apart::

    import alloc_tracker

    for batch in batches:
        with alloc_tracker.step():
            with alloc_tracker.phase("forward"), alloc_tracker.layer("encoder"):
                ...

    @alloc_tracker.phase("data")
    def load(): ...

Without the recorder all of this does nothing, and costs next to nothing.

While a module is imported, memory belongs to the phase ``import`` and to a layer with the module's name. PyTorch is watched from its
import on: modules are layers, by their paths; forward, loss, backward, optimizer and data are phases, and
steps are told apart.

Scopes belong to the thread that enters them. A coroutine that awaits within a scope, or a generator that yields within one,
leaves the scope active for whatever the thread does meanwhile.
"""

# Each of the first three begins its work as it is imported.
from . import _arenas, _frames, _imports  # noqa: F401
from ._blocks import Category, label
from ._scopes import layer, op, phase, step
from ._session import Failed, dump, fact, is_recording, mark, snapshot
from ._torch.watch import watch as _watch

__all__ = [
    "Category",
    "Failed",
    "dump",
    "fact",
    "is_recording",
    "label",
    "layer",
    "mark",
    "op",
    "phase",
    "snapshot",
    "step",
]

_watch()
