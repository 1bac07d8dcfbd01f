"""While it is imported, another thread imports a module and holds 10 MiB besides."""

import threading

kept = []


def work():
    import aside  # noqa: F401

    kept.append(bytearray(10 << 20))


thread = threading.Thread(target=work)
thread.start()
thread.join()
