"""Blocks of a device that this machine lacks: c10 is told of them by the functions that CUDA's caching allocator calls."""

import ctypes

import torch

import alloc_tracker

LIBRARY = ctypes.CDLL(None)
"""Where the loader finds a function first, for CUDA's library too."""
CUDA_0 = 1
"""``c10::Device``: the kind in the lower byte, and the number above it."""
RESERVED = 2 << 20

tell = LIBRARY._ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE
tell.restype = None
tell.argtypes = [ctypes.c_void_p, ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint16]
tell_out_of_memory = LIBRARY._ZN3c1027reportOutOfMemoryToProfilerElmmNS_6DeviceE
tell_out_of_memory.restype = None
tell_out_of_memory.argtypes = [ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_uint16]


class Allocator:
    """Hands out addresses."""

    def __init__(self):
        self.next, self.allocated = 0x7F0000000000, 0

    def take(self, size):
        address = self.next
        self.next += size
        self.allocated += size
        tell(address, size, self.allocated, RESERVED, CUDA_0)
        return address

    def give_back(self, address, size):
        self.allocated -= size
        tell(address, -size, self.allocated, RESERVED, CUDA_0)


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(_context, x):
        return x * 2

    @staticmethod
    def backward(_context, gradient):
        device.take(1024)
        return gradient * 2


class Keeps(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))
        self.size, self.kept = size, None

    def forward(self, x):
        self.kept = device.take(self.size)
        return Doubled.apply(x * self.weight)


device = Allocator()
weight = device.take(2048)
print(alloc_tracker.label(weight, alloc_tracker.Category.PARAMETER, "0"))
device.take(512)
net = torch.nn.Sequential(Keeps(4096), Keeps(8192))
net(torch.ones(1)).sum().backward()
device.give_back(net[1].kept, 8192)
tell_out_of_memory(1 << 46, device.allocated, RESERVED, CUDA_0)
# libtorch's own profiler is told as ever.
with torch.profiler.profile(profile_memory=True) as profile:
    device.take(1536)
events = profile.profiler.kineto_results.events()
print([event.nbytes() for event in events if event.name() == "[memory]" and event.nbytes() == 1536])
