kept = bytearray(3 << 20)
