"""A network that a module builds as it is imported."""

import alloc_tracker
import torch
from network_in_a_module import network

optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
network(torch.randn(8, 1000)).sum().backward()
optimizer.step()
alloc_tracker.snapshot("trained")
