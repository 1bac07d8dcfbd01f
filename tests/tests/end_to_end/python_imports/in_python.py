"""Runs owners.py with imports told as they are where the library can make no methods."""

import importlib._bootstrap as bootstrap
import os
import runpy
import sys

from alloc_tracker import _imports

made = bootstrap._ModuleLockManager
if _imports.HAS_BUILTINS and sys.version_info >= (3, 9):
    assert type(made.__enter__).__name__ == "builtin_function_or_method", made.__enter__
_imports.HAS_BUILTINS = False
told = _imports._that_tells(made.__mro__[1], _imports._Thread(), {})
assert type(told.__enter__).__name__ == "function"
bootstrap._ModuleLockManager = told
runpy.run_path(os.path.join(os.path.dirname(__file__), "owners.py"), run_name="__main__")
