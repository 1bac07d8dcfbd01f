"""Raises what is named, where nobody catches it."""

import sys
import threading
import warnings


def inner(number):
    return 1 // number


def a_chain():
    try:
        inner(0)
    except ZeroDivisionError as error:
        raise RuntimeError("outer") from error


def in_an_import():
    import no_such_module_anywhere  # noqa: F401


def in_a_module():
    import raises_as_imported  # noqa: F401


def in_a_thread():
    thread = threading.Thread(target=inner, args=(0,), name="a thread")
    thread.start()
    thread.join()
    print("goes on")


def by_recursion():
    def again(depth):
        return again(depth + 1)

    again(0)


def a_syntax_error():
    compile("a b", "a file", "exec")


def no_memory():
    bytearray(1 << 62)


def in_a_destructor():
    class Fails:
        def __del__(self):
            inner(0)

    Fails()
    print("goes on")


def a_warning():
    warnings.warn("a warning", UserWarning)
    print("goes on")


def by_a_hook():
    sys.excepthook = lambda kind, error, trace: print("hook", kind.__name__, error, trace.tb_frame.f_code.co_name)
    inner(0)


def of_an_exit():
    sys.exit(eval(sys.argv[2]))


globals()[sys.argv[1]]()
