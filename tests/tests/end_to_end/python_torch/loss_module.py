"""A loss that is a module, and inputs with names."""

import alloc_tracker
import torch
from torch import nn

network, criterion = nn.Linear(1000, 5000), nn.CrossEntropyLoss()
x, target = torch.randn(64, 1000), torch.randint(5000, (64,))
loss = criterion(network(input=x), target)
alloc_tracker.snapshot("lost")
loss.backward()
