kept = bytearray(9 << 20)
