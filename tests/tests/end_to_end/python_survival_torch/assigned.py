"""States that take the place of a network's parameters, also of parameters that have no bytes yet."""

import torch

from shown import Network, show, train

network = Network()
state = {name: value.clone() for name, value in network.state_dict().items()}
other = Network()
before = other.first.weight
show("keys", other.load_state_dict(state, assign=True))
show("another object", other.first.weight is before, other.first.weight.data_ptr() == state["first.weight"].data_ptr())
show("trained", *train(other))
with torch.device("meta"):
    empty = Network()
show("no bytes", empty.first.weight.device, empty.first.weight.shape)
show("keys", empty.load_state_dict(network.state_dict(), assign=True))
show("trained", *train(empty))
try:
    other.load_state_dict({"first.weight": torch.ones(3)}, assign=True)
except RuntimeError as error:
    show("refused", error)
