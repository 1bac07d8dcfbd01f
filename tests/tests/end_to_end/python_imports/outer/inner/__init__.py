kept = bytearray(4 << 20)
