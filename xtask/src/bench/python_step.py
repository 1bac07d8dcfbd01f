"""One of four workloads, by its name; prints the median of its steps in nanoseconds, on the wall clock and of processor time.

It knows nothing of the recorder.
"""

import statistics
import sys
import time


def timed(run):
    wall, cpu = time.perf_counter_ns(), time.process_time_ns()
    run()
    return time.perf_counter_ns() - wall, time.process_time_ns() - cpu


def import_torch():
    import torch  # noqa: F401


if sys.argv[1] == "import":
    print(*timed(import_torch))
    sys.exit()

import torch
import torch.nn as nn


class Block(nn.Module):
    """A block of ResNet-18, as torchvision has it."""

    def __init__(self, of, to, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(of, to, 3, stride, 1, bias=False), nn.BatchNorm2d(to)
        self.conv2, self.bn2 = nn.Conv2d(to, to, 3, 1, 1, bias=False), nn.BatchNorm2d(to)
        self.relu = nn.ReLU(inplace=True)
        shrinks = stride != 1 or of != to
        self.downsample = nn.Sequential(nn.Conv2d(of, to, 1, stride, bias=False), nn.BatchNorm2d(to)) if shrinks else None

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


def resnet18():
    parts = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1)]
    of = 64
    for to in (64, 128, 256, 512):
        parts += [Block(of, to, 1 if to == 64 else 2), Block(to, to, 1)]
        of = to
    network = nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 1000))
    return network, torch.randn(8, 3, 224, 224), 2, 8


def transformer():
    layer = nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True)
    return nn.TransformerEncoder(layer, 6), torch.randn(8, 64, 256), 5, 25


def mlp():
    layers = [module for _ in range(20) for module in (nn.Linear(32, 32), nn.ReLU())]
    return nn.Sequential(*layers), torch.randn(8, 32), 50, 400


torch.manual_seed(1)
torch.set_num_threads(1)
network, batch, warm_up, steps = {"resnet18": resnet18, "transformer": transformer, "mlp": mlp}[sys.argv[1]]()
optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)


def step():
    optimizer.zero_grad()
    network(batch).square().mean().backward()
    optimizer.step()


for _ in range(warm_up):
    step()
times = [timed(step) for _ in range(steps)]
print(*(int(statistics.median(of)) for of in zip(*times)))
