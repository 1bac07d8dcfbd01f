"""A network, an optimizer and gradients that are copied, before and after a step."""

import copy

import torch

from shown import Network, batch, show, train

network = Network()
early = copy.deepcopy(network)
show("trained", *train(network))
show("its copy from before", *train(early))
late = copy.deepcopy(network)
gradients = [parameter.grad for parameter in late.parameters()]
show("gradients are copied", gradients, all(a.grad is not b.grad for a, b in zip(network.parameters(), late.parameters())))
show("trained on", *train(late))
optimizer = torch.optim.Adam(network.parameters())
network(batch).sum().backward()
optimizer.step()
both = copy.deepcopy([network, optimizer])
show("the state of the copy", both[1].state_dict()["state"][0])
show("hooks", len(both[0]._forward_hooks), len(both[0]._forward_pre_hooks), vars(both[0]).keys() == vars(network).keys())
try:
    copy.deepcopy(network(batch))
except RuntimeError as error:
    show("refused", str(error).split(".")[0])
