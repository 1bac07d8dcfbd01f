"""``python -m alloc_tracker [OPTIONS] (SCRIPT | -m MODULE) [ARGUMENTS]``: runs a Python program under the recorder. The options
are those of ``alloc-tracker record``."""

import os
import shutil
import subprocess
import sys
import sysconfig
from typing import List, Tuple

_WITH_VALUE = ("-o", "--output", "--stacks", "--backend", "--follow")
_USAGE = "usage: python -m alloc_tracker [options of alloc-tracker record] (SCRIPT | -m MODULE) [ARGUMENTS]"


def _split(words: List[str]) -> Tuple[List[str], List[str]]:
    """The recorder's options, and what Python is given."""
    at = 0
    while at < len(words) and words[at].startswith("-") and words[at] != "-m":
        if words[at] == "--":
            return words[:at], words[at + 1 :]
        at += 2 if words[at] in _WITH_VALUE else 1
    return words[:at], words[at:]


def _python_options() -> List[str]:
    """The options that this Python was given, such as ``-O`` and ``-u``."""
    if hasattr(sys, "orig_argv"):
        before = sys.orig_argv[1 : len(sys.orig_argv) - len(sys.argv) + 1]
        if before[-2:-1] == ["-m"]:
            return before[:-2]
    # Up to Python 3.9, and where another option is in one word with `-m`. That of unbuffered output is not among them.
    return subprocess._args_from_interpreter_flags()


def _recorder() -> str:
    """The program ``alloc-tracker``: beside this Python or among the user's own programs, as pip puts it there, or in PATH."""
    own = [sysconfig.get_path("scripts"), os.path.dirname(sys.executable), sysconfig.get_path("scripts", "posix_user")]
    folders = [*own, os.environ.get("PATH", os.defpath)]
    found = shutil.which("alloc-tracker", path=os.pathsep.join(folders))
    if found is None:
        raise SystemExit("alloc_tracker: the program alloc-tracker is neither beside this Python nor in PATH")
    return found


def main() -> None:
    options, program = _split(sys.argv[1:])
    if options and options[0] in ("-h", "--help"):
        os.execv(_recorder(), ["alloc-tracker", "record", "--help"])
    if not program or program == ["-m"]:
        raise SystemExit(_USAGE)
    os.execv(_recorder(), ["alloc-tracker", "record", *options, "--", sys.executable, *_python_options(), *program])


if __name__ == "__main__":
    main()
