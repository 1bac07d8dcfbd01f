"""What training scripts do beside the usual loop. Each part ends with a table of who owns what."""

import alloc_tracker
import torch
from torch import nn

from usual_loop import train


class Normalize(nn.Module):
    """A transform, as torchvision's are."""

    def forward(self, image):
        return (image - 0.5) / 0.5


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(64, 64), nn.Linear(64, 64)])

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


torch.manual_seed(0)
data = torch.stack([Normalize()(torch.rand(64, 500)) for _ in range(4)])
more = torch.rand(300, 1000)
alloc_tracker.snapshot("data")

net = nn.Sequential(nn.Linear(500, 400), nn.ReLU(), nn.Linear(400, 300))
net.register_buffer("scale", torch.ones(300_000))
x = data[0]
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=3)


def closure():
    optimizer.zero_grad()
    loss = net(x).square().mean()
    loss.backward()
    return loss


for _ in range(2):
    optimizer.step(closure)
alloc_tracker.snapshot("flat state")
del optimizer

with torch.no_grad():
    # A view of a parameter that follows its training.
    first = net[2].weight[0]
train(net, torch.optim.SGD(net.parameters(), lr=0.1), x)
with torch.no_grad():
    nn.CosineSimilarity(dim=0)(first, torch.ones(400))
    nn.Identity()(net.scale)
nn.MSELoss()(torch.zeros(400, 500), net[0].weight.detach())
alloc_tracker.snapshot("kept")

attention = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
train(attention, torch.optim.Adam(attention.parameters()), torch.rand(8, 16, 64))
alloc_tracker.snapshot("attention")

class Wrapper(nn.Module):
    """It keeps its network where PyTorch does not look."""

    def __init__(self, net):
        super().__init__()
        self.nets = [net]

    def forward(self, x):
        return self.nets[0](x)


wrapped = nn.Linear(90, 70)
for _ in range(2):
    result = Wrapper(wrapped)(torch.rand(800, 90))
alloc_tracker.snapshot("wrapped")
teacher = nn.Linear(90, 60)
teacher.requires_grad_(False)
taught = teacher(torch.rand(800, 90))
alloc_tracker.snapshot("taught")

# An optimizer of the program's that keeps something under a name.
named = torch.optim.SGD(wrapped.parameters(), lr=0.1)
named.state["global"]["d"] = torch.ones(1000)
train(wrapped, named, torch.rand(8, 90))

blocks = Blocks()
train(blocks, torch.optim.SGD(blocks.parameters(), lr=0.1), torch.rand(8, 64))
blocks.blocks.insert(1, nn.Linear(64, 64))
train(blocks, torch.optim.SGD(blocks.parameters(), lr=0.1), torch.rand(8, 64))
alloc_tracker.snapshot("inserted")

from torch._subclasses.fake_tensor import FakeTensorMode

with FakeTensorMode():
    fake = nn.Linear(4096, 4096)
    train(fake, torch.optim.Adam(fake.parameters()), torch.randn(8, 4096))

for parameter in net.parameters():
    parameter.requires_grad_(False)
torch.compile(net, backend="eager")(x)
last = nn.Linear(100, 50)
momentum = torch.optim.SGD(last.parameters(), lr=0.1, momentum=0.9)
train(last, momentum, torch.rand(8, 100))
alloc_tracker.snapshot("compiled")
