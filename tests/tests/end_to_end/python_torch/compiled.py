"""Trains two layers compiled by the backend that is named, three steps; as ``modules`` by ``eager``, whose graph calls modules as Dynamo had
it do up to PyTorch 2.4; as ``saved`` prints how many storages AOTAutograd's
forward graph makes and returns (the result, and what it saves for the backward pass), and their bytes."""

import sys, torch, torch._dynamo, alloc_tracker

backend = sys.argv[1]


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.act, self.b = torch.nn.Linear(64, 128), torch.nn.GELU(), torch.nn.Linear(128, 32)

    def forward(self, x):
        return self.b(self.act(self.a(x)))


if backend == "modules":
    backend, torch._dynamo.config.inline_inbuilt_nn_modules = "eager", False
if backend == "saved":
    # As aot_eager, with the graphs looked at.
    from torch._dynamo.backends.common import aot_autograd

    def forward(graph, inputs):
        from torch._functorch.aot_autograd import make_boxed_func

        storage = lambda node: node.meta["val"].untyped_storage()
        outputs = [node for node in graph.graph.find_nodes(op="output")[0].args[0] if node is not None]
        given = {storage(node)._cdata for node in graph.graph.find_nodes(op="placeholder")}
        made = {storage(node)._cdata: storage(node).nbytes() for node in outputs}
        made = [nbytes for at, nbytes in made.items() if at not in given]
        print("saved", len(made), sum(made), flush=True)
        return make_boxed_func(graph.forward)

    def backward(graph, inputs):
        from torch._functorch.aot_autograd import make_boxed_func

        return make_boxed_func(graph.forward)

    backend = aot_autograd(fw_compiler=forward, bw_compiler=backward)

torch.manual_seed(0)
network = Net()
compiled = torch.compile(network, backend=backend)
optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
for _ in range(3):
    optimizer.zero_grad()
    y = compiled(torch.randn(16, 64))
    alloc_tracker.snapshot("after forward")
    y.square().mean().backward()
    alloc_tracker.snapshot("after backward")
    optimizer.step()
