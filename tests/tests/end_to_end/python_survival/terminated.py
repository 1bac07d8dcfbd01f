"""Waits for SIGTERM: with a handler that leaves, with one that comes back, with it ignored, or with none."""

import atexit
import signal
import sys
import time

from ready import say_ready

got = []


def leaves(number, frame):
    print("leaves in", frame.f_code.co_name)
    sys.exit(5)


def comes_back(number, frame):
    got.append(signal.Signals(number).name)


def wait():
    say_ready()
    while not got:
        time.sleep(0.2)


handlers = {"leaves": leaves, "comes_back": comes_back, "none": signal.SIG_DFL}
signal.signal(signal.SIGTERM, handlers[sys.argv[1]])
atexit.register(print, "at exit")
try:
    wait()
finally:
    print("in the end", got)
