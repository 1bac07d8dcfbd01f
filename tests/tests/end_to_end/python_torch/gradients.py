"""Gradients: of two layers, of which the first one's is given up by a hook, and of a tensor of no layer. With the word ``package``, libtorch
does not tell of gradients, as one of another version might not, and the package has hooks."""

import sys

import alloc_tracker

if "package" in sys.argv:
    from alloc_tracker._torch import library

    find = library.find

    def without_gradients():
        functions = find()
        functions.look_for_gradient = lambda: None
        return functions

    library.find = without_gradients

import torch

network = torch.nn.Sequential(torch.nn.Linear(1000, 250, bias=False), torch.nn.Linear(250, 500, bias=False))
first, second = network.parameters()
alone = torch.ones(3000, requires_grad=True)


def give_up(parameter):
    alloc_tracker.snapshot("in a hook")
    parameter.grad = None


first.register_post_accumulate_grad_hook(give_up)
(network(torch.randn(8, 1000)).sum() + (alone * 2).sum()).backward()
alloc_tracker.snapshot("after the pass")
print("hooks", [len(tensor._post_accumulate_grad_hooks or ()) for tensor in (first, second, alone)])
