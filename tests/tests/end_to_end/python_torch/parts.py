"""A network whose forward pass is never called: a method calls its parts, as in Lightning's modules."""

import torch
from torch import nn

import peak  # noqa: F401


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(64, 128), nn.ReLU())
        self.head = nn.Linear(128, 32)

    def loss(self, images):
        return self.head(self.encoder(images)).square().mean()


network = Network()
optimizer = torch.optim.Adam(network.parameters())
for _ in range(2):
    optimizer.zero_grad()
    network.loss(torch.randn(16, 64)).backward()
    optimizer.step()
print("done")
