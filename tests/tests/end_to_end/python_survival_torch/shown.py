"""Numbers as text that says every bit of them, and a network to try things on."""

import hashlib

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)


def show(what, *values):
    """Prints tensors by shape and a digest of their bytes, and all else as it is."""
    print(what, *[_text(value) for value in values])


def _text(value):
    if isinstance(value, torch.Tensor):
        if value.is_quantized or value.layout is not torch.strided:
            return f"{tuple(value.shape)} {value.dtype} {value.layout}"
        whole = value.detach().resolve_conj().contiguous().cpu().view(-1).view(torch.uint8).numpy().tobytes()
        return f"{tuple(value.shape)} {value.dtype} {hashlib.sha256(whole).hexdigest()[:16]}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_text(one)}" for key, one in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_text, value)) + "]"
    return str(value)


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(32, 64)
        self.middle = nn.Sequential(nn.ReLU(), nn.Linear(64, 64), nn.GELU())
        self.last = nn.Linear(64, 8)
        self.register_buffer("scale", torch.ones(32))

    def forward(self, batch):
        return self.last(self.middle(self.first(batch * self.scale)))


batch, labels = torch.randn(16, 32), torch.randint(0, 8, (16,))


def train(network, steps=2):
    """The losses of some steps, and what the network has become."""
    optimizer = torch.optim.SGD(network.parameters(), 0.1, momentum=0.9)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(network(batch), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return losses, dict(network.named_parameters())
