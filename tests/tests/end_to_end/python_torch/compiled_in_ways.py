"""Trains three blocks of a kind, which the way that is named has compiled, for three steps; with the word ``modules`` in graphs that call modules,
as Dynamo made them up to PyTorch 2.4. Prints the last loss,
and how many graphs Dynamo has made."""

import sys

import alloc_tracker
import torch
import torch._dynamo

way, backend, *words = sys.argv[1:]
if "modules" in words:
    torch._dynamo.config.inline_inbuilt_nn_modules = False


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = torch.nn.LayerNorm(64), torch.nn.Linear(64, 256), torch.nn.Linear(256, 64)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks, self.head = torch.nn.ModuleList(Block() for _ in range(3)), torch.nn.Linear(64, 4)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


torch.manual_seed(0)
network = Net()
run = network
if way == "blocks":
    for place in range(3):
        network.blocks[place] = torch.compile(network.blocks[place], backend=backend)
elif way == "itself":
    network.compile(backend=backend)
elif way == "function":
    run = torch.compile(lambda x: network(x), backend=backend)
optimizer = torch.optim.SGD(network.parameters(), 0.1)
for _ in range(3):
    optimizer.zero_grad()
    y = run(torch.randn(32, 64))
    alloc_tracker.snapshot("after forward")
    loss = y.square().mean()
    loss.backward()
    alloc_tracker.snapshot("after backward")
    optimizer.step()
print(loss.item(), torch._dynamo.utils.counters["stats"]["unique_graphs"])
