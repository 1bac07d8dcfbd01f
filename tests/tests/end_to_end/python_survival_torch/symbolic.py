"""torch.fx: a graph of a network, changed and run."""

import operator

import torch
from torch import fx

from shown import Network, batch, show, train

network = Network()
traced = fx.symbolic_trace(network)
show("graph", traced.graph, traced.code)
show("result", traced(batch))
for node in list(traced.graph.nodes):
    if node.op == "call_function" and node.target is operator.mul:
        with traced.graph.inserting_after(node):
            added = traced.graph.call_function(torch.add, (node, 1.0))
        node.replace_all_uses_with(added, lambda user, added=added: user is not added)
traced.graph.lint()
traced.recompile()
show("changed", traced.code, traced(batch))


class Prints(fx.Interpreter):
    def run_node(self, node):
        value = super().run_node(node)
        show("node", node.name, value)
        return value


Prints(traced).run(batch)
show("trained", *train(traced))
from torch.fx.experimental.proxy_tensor import make_fx

show("operators", make_fx(lambda values: network.last(network.middle(values)).sum())(torch.randn(4, 64)).code)


class Branches(torch.nn.Module):
    def forward(self, values):
        return values if values.sum() > 0 else -values


try:
    fx.symbolic_trace(Branches())
except fx.proxy.TraceError as error:
    show("refused", error)
