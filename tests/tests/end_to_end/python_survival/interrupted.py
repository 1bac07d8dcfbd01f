"""Runs or waits, in the way that is named, until a signal comes."""

import os
import queue
import select
import subprocess
import sys
import threading
import time

from ready import say_ready


def runs():
    say_ready()
    while True: pass  # noqa: E701  One line, so that a traceback names it and no other.


def sleeps():
    say_ready()
    time.sleep(1000)


def waits_for_a_lock():
    lock = threading.Lock()
    lock.acquire()
    say_ready()
    lock.acquire()


def waits_for_a_queue():
    say_ready()
    queue.Queue().get()


def waits_for_a_thread():
    thread = threading.Thread(target=time.sleep, args=(1000,), daemon=True)
    thread.start()
    say_ready()
    thread.join()


def waits_for_a_descriptor():
    reads, _writes = os.pipe()
    say_ready()
    select.select([reads], [], [])


def waits_for_a_program():
    # The program says it in place of this one, which waits from then on.
    subprocess.run(["sh", "-c", "echo $PPID > ready; while :; do :; done"])


def cleans_up():
    try:
        sleeps()
    finally:
        print("cleaned up")


def catches():
    try:
        sleeps()
    except KeyboardInterrupt:
        print("caught")
        sys.exit(3)


globals()[sys.argv[1]]()
