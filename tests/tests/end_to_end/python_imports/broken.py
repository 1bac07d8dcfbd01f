"""Hands over 6 MiB, and cannot be imported."""

import outer

outer.kept.append(bytearray(6 << 20))
raise ValueError("not today")
