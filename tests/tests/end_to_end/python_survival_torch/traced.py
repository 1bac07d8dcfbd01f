"""torch.jit.trace and torch.jit.script: graphs, results, gradients, and what is saved."""

import io
import sys
import warnings

import torch
from torch import nn

from shown import Network, batch, show, train

warnings.simplefilter("ignore", DeprecationWarning)


class Chooses(nn.Module):
    """Has branches and loops, which a script keeps and a trace does not."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(32, 32) for _ in range(3)])

    def forward(self, values, often: int = 2):
        for layer in self.layers:
            values = layer(values)
        for _ in range(often):
            values = torch.relu(values) if bool(values.sum() > 0) else -values
        return values


def check(name, compiled):
    show(name, str(compiled.graph).count("\n"), str(compiled.graph), compiled.code)
    for _ in range(3):
        show("result", compiled(batch))
    compiled(batch).sum().backward()
    show("gradients", {one: parameter.grad for one, parameter in compiled.named_parameters()})
    memory = io.BytesIO()
    torch.jit.save(compiled, memory)
    memory.seek(0)
    show("saved", torch.jit.load(memory)(batch))
    frozen = torch.jit.freeze(compiled.eval())
    show("frozen", frozen(batch))


network, chooses = Network(), Chooses()
make = {"trace": lambda module: torch.jit.trace(module, batch), "script": torch.jit.script}[sys.argv[1]]
check("network", make(network))
check("chooses", make(chooses))
show("trained", *train(make(Network())))
show("the module itself", *train(network))
