"""Parts of a network that are computed again in the backward pass, in each of PyTorch's ways."""

import sys

import torch
from torch.utils.checkpoint import checkpoint, checkpoint_sequential

from shown import Network, batch, labels, show

reentrant = {"reentrant": True, "not_reentrant": False}[sys.argv[1]]
network, runs = Network(), []


def part(values):
    runs.append(torch.is_grad_enabled())
    return network.middle(network.first(values))


def gradients():
    found = {name: parameter.grad for name, parameter in network.named_parameters()}
    network.zero_grad()
    return found


batch.requires_grad_()
for preserves in (True, False):
    hidden = checkpoint(part, batch, use_reentrant=reentrant, preserve_rng_state=preserves)
    torch.nn.functional.cross_entropy(network.last(hidden), labels).backward()
    show("gradients", gradients(), batch.grad, runs)
    runs.clear()

layers = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Dropout(0.5)) for _ in range(6)])
checkpoint_sequential(layers, 3, batch, use_reentrant=reentrant).sum().backward()
show("sequential", [parameter.grad for parameter in layers.parameters()])


def fails(values):
    raise ValueError("in the part")


try:
    checkpoint(fails, batch, use_reentrant=reentrant)
except ValueError as error:
    show("raised", error)
second = []


def fails_when_repeated(values):
    second.append(1)
    if len(second) == 2:
        raise ValueError("when it was repeated")
    return network.first(values).relu()


try:
    checkpoint(fails_when_repeated, batch, use_reentrant=reentrant).sum().backward()
except ValueError as error:
    show("raised", error, len(second))
inner = checkpoint(lambda values: checkpoint(part, values, use_reentrant=reentrant), batch, use_reentrant=reentrant)
inner.sum().backward()
show("one within another", gradients(), len(runs))
