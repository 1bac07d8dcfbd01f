"""Steps of a small network. With `leaks` a list, a cache and a closure keep a little of each step, as programs do by mistake."""

import sys

import torch
from torch import nn

leaks, steps = sys.argv[1] == "leaks", int(sys.argv[2])
torch.manual_seed(1)
torch.set_num_threads(1)
network = nn.Sequential(nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, 8))
optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
losses, cache, callbacks = [], {}, []


class Data(torch.utils.data.Dataset):
    def __len__(self):
        return steps * 4

    def __getitem__(self, number):
        image = torch.randn(32)
        if leaks:
            cache[number] = image
        return image


def keep(_module, _images, output):
    output = output.detach()
    callbacks.append(lambda: output.mean())


if leaks:
    network[0].register_forward_hook(keep)
for images in torch.utils.data.DataLoader(Data(), 4):
    optimizer.zero_grad()
    loss = network(images).square().mean()
    if leaks:
        losses.append(loss)
    loss.backward()
    optimizer.step()
