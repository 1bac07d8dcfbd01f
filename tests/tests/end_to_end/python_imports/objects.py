"""Makes a million objects of 16 bytes in a phase."""

import alloc_tracker

with alloc_tracker.phase("objects"):
    held = [object() for _ in range(1_000_000)]
alloc_tracker.dump()
