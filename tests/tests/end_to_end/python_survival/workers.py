"""multiprocessing by the start method that is named: results, exceptions, exit codes, and what processes share."""

import concurrent.futures
import multiprocessing
import multiprocessing.shared_memory
import os
import sys
import time


def square(number):
    return number * number


def fails(number):
    raise ValueError(number)


def leaves_at_once(code):
    os._exit(code)


def raises():
    raise KeyError("in the worker")


def answers(queue, connection, value, event):
    event.wait()
    with value.get_lock():
        value.value += 1
    connection.send(("sent", queue.get()))


def writes(name):
    memory = multiprocessing.shared_memory.SharedMemory(name)
    memory.buf[0] = 42
    memory.close()


def main(method):
    context = multiprocessing.get_context(method)
    with context.Pool(2, maxtasksperchild=3) as pool:
        print("pool", pool.map(square, range(10), chunksize=1))
        try:
            pool.apply(fails, (7,))
        except ValueError as error:
            print("raised", repr(error), type(error.__cause__).__name__)
        pool.close()
        pool.join()

    def ended(target, *arguments):
        process = context.Process(target=target, args=arguments, name="worker")
        process.start()
        process.join()
        return process.exitcode

    sys.stdout.flush()
    print("exit codes", [ended(sys.exit, code) for code in (0, 3, "a text")], ended(leaves_at_once, 4), ended(raises))
    sleeper = context.Process(target=time.sleep, args=(1000,))
    for end in ("terminate", "kill"):
        sleeper = context.Process(target=time.sleep, args=(1000,))
        sleeper.start()
        getattr(sleeper, end)()
        sleeper.join()
        print(end, sleeper.exitcode)

    queue, value, event = context.Queue(), context.Value("i", 1), context.Event()
    here, there = context.Pipe()
    process = context.Process(target=answers, args=(queue, there, value, event))
    process.start()
    queue.put({"a": [1, 2]})
    event.set()
    print("answer", here.recv())
    process.join()
    print("value", value.value, "exit code", process.exitcode, "left", multiprocessing.active_children())

    memory = multiprocessing.shared_memory.SharedMemory(create=True, size=4096)
    process = context.Process(target=writes, args=(memory.name,))
    process.start()
    process.join()
    print("shared", memory.buf[0])
    memory.close()
    memory.unlink()

    with context.Manager() as manager:
        shared = manager.dict(a=1)
        shared["b"] = 2
        print("manager", dict(shared))
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
        print("executor", list(executor.map(square, range(4))))


if __name__ == "__main__":
    main(sys.argv[1])
