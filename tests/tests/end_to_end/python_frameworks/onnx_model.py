"""Writes a model of three matrices of 16 MiB each to the path that is given."""

import sys

import numpy
from onnx import TensorProto, helper, numpy_helper

SIDE, ROWS = 2048, 256

# Rows of ones become rows of 1, 2 and 6. Matrices that were the same would be kept once.
weights = [numpy.full((SIDE, SIDE), factor / SIDE, numpy.float32) for factor in (1, 2, 3)]
nodes = [helper.make_node("MatMul", [f"x{at}", f"w{at}"], [f"x{at + 1}"], name=f"layer{at}") for at in range(3)]
ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [ROWS, SIDE]) for name in ("x0", "x3")]
initializers = [numpy_helper.from_array(weight, f"w{at}") for at, weight in enumerate(weights)]
graph = helper.make_graph(nodes, "three", ends[:1], ends[1:], initializers)
made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
made.ir_version = 8
with open(sys.argv[1], "wb") as file:
    file.write(made.SerializeToString())
