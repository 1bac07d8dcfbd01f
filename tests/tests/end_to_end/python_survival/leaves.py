"""Ends in the way that is named."""

import atexit
import ctypes
import faulthandler
import os
import signal
import sys
import threading
import time

C = ctypes.CDLL(None)


def exits_at_once():
    atexit.register(print, "never said")
    print("flushed", flush=True)
    print("lost")
    os._exit(7)


def exits_at_once_in_a_thread():
    threading.Thread(target=os._exit, args=(9,)).start()
    time.sleep(1000)


def exits_at_once_at_exit():
    atexit.register(os._exit, 11)


def has_handlers():
    class Last:
        def __del__(self):
            print("deleted")

    def fails():
        raise ValueError("in a handler")

    for word in ("third", "second"):
        atexit.register(print, word)
    atexit.register(fails)
    atexit.register(print, "first")
    globals()["kept"] = Last()
    sys.exit(4)


def has_daemon_threads():
    kept = []

    def allocates():
        while True:
            kept.append(bytes(10_000))
            del kept[:-100]

    for _ in range(3):
        threading.Thread(target=allocates, daemon=True).start()
    threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()
    while len(kept) < 50:
        time.sleep(0.01)
    print("ends with", threading.active_count(), "threads")


def has_threads():
    def late():
        time.sleep(0.2)
        print("a thread that outlives the last line")

    threading.Thread(target=late).start()
    print("the last line")


def aborts():
    os.abort()


def kills_itself():
    os.kill(os.getpid(), signal.SIGKILL)


def interrupts_itself():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print("flushed", flush=True)
    os.kill(os.getpid(), signal.SIGINT)


def raises_an_interrupt():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    print("flushed", flush=True)
    C["raise"](signal.SIGINT)


def exits_quickly():
    atexit.register(print, "never said")
    print("flushed", flush=True)
    C.quick_exit(13)


def becomes_another_by_a_folder():
    names = ctypes.c_char_p * 4
    arguments = names(b"echo", b"another", b"program", None)
    folder = os.open("/bin", os.O_RDONLY)
    print("nobody", C.execveat(folder, b"no-such-program", arguments, None, 0), flush=True)
    environment = names(*(f"{name}={value}".encode() for name, value in os.environ.items() if name == "PATH"), None)
    C.execveat(folder, b"echo", arguments, environment, 0)


def hears_itself():
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1000)
    except KeyboardInterrupt:
        print("caught")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.kill(os.getpid(), signal.SIGINT)
    print("ignored")
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    os.kill(os.getpid(), signal.SIGINT)
    print("held back", signal.sigwait([signal.SIGINT]).name)
    C["raise"](signal.SIGINT)
    print("held back", signal.sigwait([signal.SIGINT]).name)
    print("raised", C["raise"](0), C["raise"](1000))
    try:
        os.kill(2**22 + 1, signal.SIGINT)
    except ProcessLookupError as error:
        print("nobody", error)


def reads_at_zero():
    faulthandler.enable()
    ctypes.string_at(0)


if __name__ == "__main__":
    globals()[sys.argv[1]]()
