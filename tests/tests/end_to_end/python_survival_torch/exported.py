"""torch.export: programs, their graphs, and their results, with sizes that may change."""

import io

import torch

from shown import Network, batch, show

network = Network()
program = torch.export.export(network, (batch,))
show("program", program.graph, program.graph_signature)
show("stacks", [list(node.meta.get("nn_module_stack", {}).values()) for node in program.graph.nodes])
module = program.module()
show("result", module(batch))
module(batch).sum().backward()
show("gradients", {name: parameter.grad for name, parameter in module.named_parameters()})
sizes = {"batch": {0: torch.export.Dim("rows", min=2, max=64)}}
program = torch.export.export(network, (batch,), dynamic_shapes=sizes)
show("rows", program.range_constraints, program.module()(batch[:5]))
memory = io.BytesIO()
torch.export.save(program, memory)
memory.seek(0)
show("saved", torch.export.load(memory).module()(batch[:7]))
lowered = program.run_decompositions()
show("lowered", lowered.graph, lowered.module()(batch[:3]))
show("the module itself", network(batch))
