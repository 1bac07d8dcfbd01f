"""Three steps of Adam in the way that is named: a parameter at a time (`loop`), all at once (`foreach`), or in one operator (`fused`)."""

import sys

import torch
from torch import nn

torch.set_num_threads(1)
network = nn.Sequential(*[nn.Linear(256, 256) for _ in range(3)])
way = sys.argv[1]
optimizer = torch.optim.Adam(network.parameters(), fused=True if way == "fused" else None, foreach=way == "foreach")
for _ in range(3):
    optimizer.zero_grad()
    network(torch.ones(1, 256)).sum().backward()
    optimizer.step()
