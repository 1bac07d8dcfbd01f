"""Prints what a program can see of how it is imported, and what becomes of imports that fail."""

import importlib
import re
import sys
import threading
import traceback
import warnings

import looks



def print_all(*values):
    """Without addresses, which differ from run to run."""
    print(*(re.sub(" at 0x[0-9a-f]+", "", repr(value)) for value in values))


print_all(sys.meta_path, sys.path_hooks)
print_all(looks.__spec__, looks.__loader__, vars(looks.__spec__.loader), looks.__spec__._initializing)
print(importlib.reload(looks) is looks)


def fails(name):
    try:
        importlib.import_module(name)
    except BaseException:
        traceback.print_exc(file=sys.stdout)


for name in ["no_such_module", "looks.no_package", "broken", "wrong", "imports_broken", "imports_wrong"]:
    fails(name)
sys.modules["nothing"] = None
fails("nothing")
sys.modules["torch"] = None
fails("torch")
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    import warns  # noqa: F401
print([(one.filename, one.lineno) for one in caught])
threads = [threading.Thread(target=importlib.import_module, args=("slow",)) for _ in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
import slow  # noqa: E402

print(slow.runs, [[frame.name, frame.filename, frame.lineno] for frame in looks.stack])
