kept = bytearray(2 << 20)
