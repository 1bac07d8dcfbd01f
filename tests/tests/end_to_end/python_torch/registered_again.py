"""A module that is given the same part in every step. Nothing may be kept for each time."""

import weakref

import torch
from torch import nn

network = nn.Sequential(nn.Linear(4, 4))
part = network[0]


def step():
    network[0] = part
    network(torch.ones(1, 4)).sum().backward()


step()
before = len(weakref.finalize._registry)
for _ in range(100):
    step()
print("kept", len(weakref.finalize._registry) - before)
