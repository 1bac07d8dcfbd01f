"""Objects, a thread, and modules that are imported."""
import collections
import threading

held = [bytearray(1 << 20) for _ in range(8)]
numbers = {number: str(number) * 3 for number in range(20_000)}
thread = threading.Thread(target=lambda: bytearray(4 << 20))
thread.start()
thread.join()
print("ends well", collections.Counter(map(len, numbers.values())).total())
