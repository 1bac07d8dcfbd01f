"""The program's own scopes and steps beside those that PyTorch tells."""

import alloc_tracker
import torch

network, x = torch.nn.Linear(64, 64), torch.ones(8, 64)
optimizer = torch.optim.SGD(network.parameters(), 0.1)
kept = []
for _ in range(3):
    with alloc_tracker.step():
        y = network(x)
        with alloc_tracker.phase("mine"), alloc_tracker.layer("own"):
            z = network(x)
            kept.append(torch.ones(300_000))
        loss = y.sum() + z.sum()
        late = torch.ones(200_000)
        loss.backward()
        optimizer.step()
alloc_tracker.snapshot("end")
