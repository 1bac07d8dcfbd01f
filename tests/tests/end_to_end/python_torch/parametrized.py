"""Layers whose weights are computed from others. PyTorch tries that computation before they are parts of a network."""

import alloc_tracker
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

network = nn.Sequential(spectral_norm(nn.Linear(256, 256)), nn.ReLU(), spectral_norm(nn.Linear(256, 64)))
data = torch.ones(300_000)
alloc_tracker.snapshot("built")
optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
network(torch.randn(16, 256)).sum().backward()
optimizer.step()
alloc_tracker.snapshot("trained")
