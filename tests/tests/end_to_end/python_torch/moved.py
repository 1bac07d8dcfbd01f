"""Gives the parameters and buffers of a network other memory after its first pass."""

import alloc_tracker
import torch
from torch import nn

network = nn.Sequential(nn.Linear(64, 32), nn.BatchNorm1d(32), nn.Linear(32, 4)).eval()
with torch.no_grad():
    network(torch.randn(8, 64))
    alloc_tracker.snapshot("named")
    network.double()
    alloc_tracker.snapshot("moved")
    network(torch.randn(8, 64, dtype=torch.float64))
