"""torch.func: gradients of functions, of gradients, of each example, and Jacobians."""

import torch
from torch.func import functional_call, grad, grad_and_value, hessian, jacfwd, jacrev, jvp, stack_module_state, vjp, vmap

from shown import Network, batch, labels, show

network = Network()
parameters = {name: value.detach() for name, value in network.named_parameters()}


def loss(parameters, values, labels):
    return torch.nn.functional.cross_entropy(functional_call(network, parameters, (values,)), labels)


show("grad", grad(loss)(parameters, batch, labels))
show("value", grad_and_value(loss)(parameters, batch, labels)[1])


def of_one(parameters, values, label):
    return loss(parameters, values.unsqueeze(0), label.unsqueeze(0))


show("each example", vmap(grad(of_one), in_dims=(None, 0, 0))(parameters, batch, labels))
show("vmap", vmap(network.first)(batch), vmap(lambda one: one.sin().sum(), chunk_size=4)(batch))
show("grad of grad", grad(grad(lambda value: value.sin() * value**2))(torch.tensor(0.5)))
show("jacrev", jacrev(lambda values: network(values))(batch[0]))
show("jacfwd", jacfwd(lambda values: network(values))(batch[0]))
show("hessian", hessian(lambda values: network(values).sum())(batch[0]))
values, pulled = vjp(network, batch)
show("vjp", values, pulled(torch.ones_like(values)))
show("jvp", jvp(network.first, (batch,), (torch.ones_like(batch),)))
networks = [Network() for _ in range(3)]
stacked, buffers = stack_module_state(networks)
show("many at once", vmap(lambda p, b: functional_call(networks[0], (p, b), (batch,)))(stacked, buffers))
network(batch).sum().backward()
show("the module itself", {name: value.grad for name, value in network.named_parameters()})
