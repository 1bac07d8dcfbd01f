"""Is found before the user's own module of this name, in every Python that ``python -m alloc_tracker`` starts: has torch watched,
and then runs the user's."""

import importlib.machinery
import importlib.util
import os
import sys


def _run_the_users() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    others = [path for path in sys.path if os.path.abspath(path or ".") != here]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def _watch() -> None:
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sys.path.insert(0, package)
    try:
        import alloc_tracker  # noqa: F401
    except Exception:
        # A Python that is too old for the package is recorded by its calls alone.
        pass
    finally:
        sys.path.remove(package)


try:
    _watch()
finally:
    _run_the_users()
