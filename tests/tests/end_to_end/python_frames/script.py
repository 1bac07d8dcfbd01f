"""Allocates in known lines. Behind each stands the function, how many MiB it allocates, and in how many blocks."""

import os
import sys
import threading

MIB = 1 << 20
held = []


def collate():
    return [bytearray(MIB) for _ in range(64)]  # HOLDS collate 64 64


def load():
    return collate()


def blocks():
    for _ in range(3):
        yield bytearray(2 * MIB)  # HOLDS blocks 6 3


def key(number):
    held.append(bytearray(number * MIB))  # HOLDS key 3 2
    return number


class Loader:
    def order(self):
        sorted([1, 2], key=key)


def on_a_thread():
    held.append(bytearray(5 * MIB))  # HOLDS on_a_thread 5 1


def deep(left):
    if left == 0:
        held.append(bytearray(7 * MIB))  # HOLDS deep 7 1
        return
    deep(left - 1)


held.append(load())
held.extend(blocks())
Loader().order()
threads = [threading.Thread(target=on_a_thread) for _ in range(1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
deep(100)

# Each function is gone when the next is made, which is as long and often at its address.
for number in range(20):
    names = {"held": held, "MIB": MIB}
    exec(compile(f"def made_{number:02}():\n    held.append(bytearray(MIB))\n", f"made {number:02}", "exec"), names)
    names[f"made_{number:02}"]()
    del names


def größe_你():
    held.append(bytearray(9 * MIB))  # HOLDS größe_你 9 1


größe_你()

child = os.fork()
if child == 0:
    held.append(bytearray(11 * MIB))  # HOLDS <module> 11 1
    os._exit(0)
os.waitpid(child, 0)
