"""Prints the traceback of each exception that passes a backward pass or a loader, and what PyTorch's functions for these are like."""

import inspect
import traceback

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Refuses(torch.autograd.Function):
    @staticmethod
    def forward(context, value):
        return value * 2

    @staticmethod
    def backward(context, gradient):
        raise ValueError("not this one")


class Broken(Dataset):
    def __len__(self):
        return 3

    def __getitem__(self, index):
        if index == 1:
            raise KeyError("a key")
        return torch.full((4,), float(index))


class Interrupted(IterableDataset):
    def __iter__(self):
        yield torch.ones(4)
        raise KeyboardInterrupt("stopped")


def each(loader):
    return [batch.sum().item() for batch in loader]


weight = torch.ones(3, requires_grad=True)
for run in (
    lambda: Refuses.apply(weight).sum().backward(),
    lambda: torch.autograd.backward(Refuses.apply(weight).sum(), retain_graph=True),
    lambda: torch.autograd.grad(Refuses.apply(weight).sum(), weight, allow_unused=True),
    lambda: weight.backward(),
    lambda: (weight * 2).sum().backward(gradient=torch.ones(7)),
    lambda: next(iter(DataLoader([]))),
    lambda: each(DataLoader(Broken())),
    lambda: each(DataLoader(Interrupted())),
):
    try:
        print("result", run())
    except BaseException as error:
        print("raised", type(error).__name__)
        traceback.print_exception(type(error), error, error.__traceback__)
print("whole", each(DataLoader([torch.ones(2), torch.zeros(2)])))
loss = (weight * 3).sum()
loss.backward(retain_graph=True)
print("gradients", weight.grad, torch.autograd.grad(loss, [weight], create_graph=True))
for function in (torch.autograd.backward, torch.autograd.grad):
    print("function", function.__name__, inspect.signature(function), inspect.getsourcefile(function).split("/")[-2:])
