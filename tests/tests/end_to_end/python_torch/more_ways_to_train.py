"""What fewer training scripts do beside the usual loop. Each part ends with a table of who owns what."""

import copy
import tempfile

import alloc_tracker
import torch
from torch import nn

from usual_loop import train


class Normalize(nn.Module):
    def forward(self, image):
        return (image - 0.5) / 0.5


class Compose(nn.Module):
    """It keeps its transforms in a plain list, as torchvision's does."""

    def __init__(self, transforms):
        super().__init__()
        self.transforms = transforms

    def forward(self, image):
        for transform in self.transforms:
            image = transform(image)
        return image


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(50, 60)

    def forward(self, x):
        return self.inner(x)


class Failing(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(50, 60)

    def forward(self, x):
        raise KeyError("no such thing")


torch.manual_seed(0)
composed = Compose([Normalize(), Normalize()])
composed_data = [composed(torch.rand(64, 500)) for _ in range(4)]
composed_more = torch.rand(300, 1000)
alloc_tracker.snapshot("composed")

# A forward pass that only finds out a size.
features = nn.Sequential(nn.Conv2d(1, 8, 3), nn.ReLU(), nn.Flatten())
size = features(torch.zeros(1, 1, 28, 28)).shape[1]
probed_data = torch.rand(2000, 1, 14, 14)
head = nn.Linear(size, 64)
after_head = (torch.zeros(700, 300) + 1) * 2
alloc_tracker.snapshot("probed")
del head

try:
    Failing()(torch.rand(8, 50))
except KeyError:
    caught = torch.zeros(900, 300) + 1
alloc_tracker.snapshot("raised")

net = nn.Sequential(nn.Linear(100, 200), nn.ReLU(), nn.Linear(200, 50))
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
x = torch.rand(64, 100)
train(net, optimizer, x)
for parameter in net.parameters():
    parameter.data = parameter.data.clone()
train(net, optimizer, x, 1)
alloc_tracker.snapshot("replaced")
for parameter in net.parameters():
    # As sharpness-aware minimization does: the parameter is what the state has.
    optimizer.state[parameter]["before"] = parameter.data.clone()
    parameter.data = optimizer.state[parameter]["before"]
train(net, optimizer, x, 1)
alloc_tracker.snapshot("put back")

net.register_buffer("table", torch.zeros(5000))
net[2].register_buffer("mask", torch.zeros(3000))
net[2].bias = nn.Parameter(torch.zeros(50))
net[2].weight = nn.Parameter(torch.zeros(50, 200))
alloc_tracker.snapshot("given")

ensemble = [nn.Sequential(nn.Linear(70, 40), nn.Tanh(), nn.Linear(40, 30)) for _ in range(3)]
parameters, buffers = torch.func.stack_module_state(ensemble)
base = copy.deepcopy(ensemble[0])
ensemble_optimizer = torch.optim.Adam(parameters.values())
batch = torch.rand(64, 70)
alloc_tracker.mark("ensemble begins")
for _ in range(3):
    ensemble_optimizer.zero_grad()
    made = torch.func.vmap(lambda p, b: torch.func.functional_call(base, (p, b), (batch,)))(parameters, buffers)
    alloc_tracker.snapshot("ensemble")
    made.square().mean().backward()
    ensemble_optimizer.step()
alloc_tracker.mark("ensemble ends")
del made

import torch.distributed as distributed
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

with tempfile.TemporaryDirectory() as folder:
    distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
    sharded = nn.Sequential(nn.Linear(110, 210), nn.ReLU(), nn.Linear(210, 55))
    fully_shard(sharded, mesh=init_device_mesh("cpu", (1,)))
    sharded_optimizer = torch.optim.Adam(sharded.parameters())
    train(sharded, sharded_optimizer, torch.ones(64, 110))
    alloc_tracker.snapshot("sharded")
    distributed.destroy_process_group()

compiled = [torch.compile(Block(), backend="eager"), torch.compile(nn.Linear(50, 60), backend="eager")]
for one in compiled:
    train(one, torch.optim.SGD(one.parameters(), lr=0.1), torch.rand(8, 50))
alloc_tracker.snapshot("compiled")
