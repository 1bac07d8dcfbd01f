"""Forks, and forks in a child: what each returns, and that what was printed before is printed once."""

import os
import sys


def child(work):
    sys.stdout.flush()
    process = os.fork()
    if process == 0:
        os._exit(work())
    return os.WEXITSTATUS(os.waitpid(process, 0)[1])


kept = [bytes(1000) for _ in range(1000)]


def allocates():
    kept.extend(bytes(1000) for _ in range(1000))
    return len(kept) // 1000


def forks_again():
    return 10 + child(allocates)


def raises():
    try:
        raise ValueError("in the child")
    except ValueError:
        sys.excepthook(*sys.exc_info())
        sys.stderr.flush()
    return 4


print("a child", child(allocates))
print("a child of a child", child(forks_again))
print("a child that raises", child(raises))
print("what the parent has", len(kept))
if os.fork() == 0:
    # It goes on through the whole end of the interpreter.
    print("the child ends as a program does")
    sys.exit(6)
print("the last child", os.WEXITSTATUS(os.wait()[1]))
