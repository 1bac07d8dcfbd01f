"""Modules whose parameters are swapped with converted ones, which PyTorch refuses where one has a weak reference."""

import torch

torch.__future__.set_swap_module_params_on_conversion(True)
torch.manual_seed(1)
network = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)


def step(kind):
    optimizer.zero_grad()
    network(torch.ones(2, 4, dtype=kind)).sum().backward()
    optimizer.step()


step(torch.float32)
before = [id(parameter) for parameter in network.parameters()]
optimizer.zero_grad()
network.double()
print("swapped", [parameter.dtype for parameter in network.parameters()])
print("the same objects", before == [id(parameter) for parameter in network.parameters()])
optimizer = torch.optim.SGD(network.parameters(), lr=0.1, momentum=0.9)
step(torch.float64)
state = {name: value.clone() for name, value in network.state_dict().items()}
optimizer.zero_grad()
print("loaded", network.load_state_dict(state))
print("result", [parameter.sum().item() for parameter in network.parameters()])
