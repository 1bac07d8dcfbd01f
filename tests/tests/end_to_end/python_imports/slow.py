import time

time.sleep(0.05)
runs = globals().get("runs", 0) + 1
