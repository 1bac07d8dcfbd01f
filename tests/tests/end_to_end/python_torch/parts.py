"""A network whose forward pass is never called: a method calls its parts, as in Lightning's modules."""

import torch
from torch import nn
from torch.optim.optimizer import register_optimizer_step_pre_hook


def at_its_peak(*_):
    torch.zeros(1 << 24)


# The imports have a peak as well, and these networks are small: the process has its own where the optimizer begins.
register_optimizer_step_pre_hook(at_its_peak)


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
