"""Prints what a program may see of itself, less what it needs in order to be recorded: the environment, and what that loads."""

import gc
import os
import resource
import signal
import sys
import threading
import warnings

print("flags", sys.flags)
print("words", sys.argv, getattr(sys, "orig_argv", None))
# Without the module site nobody takes away the folder that the recorder has put there.
path = [folder for folder in sys.path if not (sys.flags.no_site and folder.endswith("/alloc_tracker/_start"))]
print("path", path, sys.prefix, sys.exec_prefix, sys.executable)
print("main", __name__, globals().get("__file__"), __spec__ and __spec__.name, type(__loader__).__name__)
print("customized", [name in sys.modules for name in ("sitecustomize", "usercustomize")])
print("finders", [getattr(one, "__name__", type(one).__name__) for one in sys.meta_path], len(sys.path_hooks))
print("hooks", sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, sys.gettrace(), sys.getprofile())
print("limits", sys.getrecursionlimit(), sys.getswitchinterval(), threading.stack_size())
print("collector", gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_debug())
print("warnings", warnings.filters, warnings.showwarning.__module__)
print("threads", threading.active_count(), threading.current_thread().name, len(sys._current_frames()))
print("signals", [(number.name, signal.getsignal(number)) for number in signal.Signals])
print("blocked", signal.pthread_sigmask(signal.SIG_BLOCK, []))
print("timers", signal.getitimer(signal.ITIMER_REAL), signal.getitimer(signal.ITIMER_PROF))
print("descriptors", sorted(os.listdir("/proc/self/fd")))
names = sorted(name for name in dir(resource) if name.startswith("RLIMIT_"))
print("may", [(name, resource.getrlimit(getattr(resource, name))) for name in names])
print("runs on", os.sched_getaffinity(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getscheduler(0))
umask = os.umask(0o22)
print("files", oct(umask), os.getcwd(), sorted(os.listdir(".")))
print("encodings", sys.getdefaultencoding(), sys.getfilesystemencoding(), sys.stdout.encoding, sys.stdout.errors)
print("assertions", __debug__, "docs", bool(os.__doc__), "bytecode", sys.dont_write_bytecode, sys.pycache_prefix)
