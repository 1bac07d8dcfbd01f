"""Is found before the user's own module of this name, in every Python that ``alloc-tracker record`` starts: has imports told
and torch watched, and then runs the user's."""

import importlib
import os
import sys


def _leave_path() -> None:
    """The program sees the path that it would have without this. Python put this folder there for what it starts itself."""
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != here]


def _run_the_users() -> None:
    # As Python would without this one: that there is none, or that it fails, is then said in the same way.
    sys.modules.pop("sitecustomize", None)
    importlib.import_module("sitecustomize")


def _watch() -> None:
    # Behind the path: a package that is installed here is the one that the program imports.
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.append(package)
    try:
        import alloc_tracker  # noqa: F401
    except Exception:
        # A Python that is too old for the package is recorded by its calls alone.
        pass
    finally:
        sys.path.remove(package)


_leave_path()
try:
    _watch()
finally:
    _run_the_users()
