"""Four steps in a loop of accelerate's."""

import torch
from accelerate import Accelerator
from torch.optim.optimizer import register_optimizer_step_pre_hook

torch.manual_seed(1)
torch.set_num_threads(1)


def at_its_peak(*_):
    torch.zeros(1 << 24)


# The imports have a peak as well, and these networks are small: the process has its own where the optimizer begins.
register_optimizer_step_pre_hook(at_its_peak)
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
