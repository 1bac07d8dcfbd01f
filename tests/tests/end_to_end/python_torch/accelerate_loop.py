"""Four steps in a loop of accelerate's."""

import torch
from accelerate import Accelerator

import peak  # noqa: F401

torch.manual_seed(1)
torch.set_num_threads(1)
accelerator = Accelerator(cpu=True)
network = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 32))
optimizer = torch.optim.AdamW(network.parameters())
data = torch.utils.data.TensorDataset(torch.randn(64, 64), torch.randint(0, 32, (64,)))
loader = torch.utils.data.DataLoader(data, batch_size=16)
network, optimizer, loader = accelerator.prepare(network, optimizer, loader)
for images, labels in loader:
    optimizer.zero_grad()
    accelerator.backward(torch.nn.functional.cross_entropy(network(images), labels))
    optimizer.step()
