"""Trains tensors that no module has."""

import alloc_tracker
import torch
import torch.nn.functional as F

torch.manual_seed(0)
C, W, V = torch.randn(100, 20), torch.randn(60, 200) * 0.1, torch.randn(200, 100) * 0.1
parameters = [C, W, V]
for parameter in parameters:
    parameter.requires_grad = True
optimizer = torch.optim.AdamW(parameters, lr=1e-3)
for _ in range(4):
    index = torch.randint(0, 100, (64, 3))
    loss = F.cross_entropy(torch.tanh(C[index].view(64, -1) @ W) @ V, index[:, 0])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
alloc_tracker.snapshot("end")
