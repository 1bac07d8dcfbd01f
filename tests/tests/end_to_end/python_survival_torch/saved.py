"""A network that is saved and loaded: whole, by its state, by weights alone, mapped, and with its optimizer."""

import io
import os
import pickle
import tempfile

import torch

from shown import Network, batch, show, train

network = Network()
optimizer = torch.optim.Adam(network.parameters())
network(batch).sum().backward()
optimizer.step()

memory = io.BytesIO()
torch.save(network, memory)
memory.seek(0)
show("whole", *train(torch.load(memory, weights_only=False)))
pickled = pickle.loads(pickle.dumps(network))
show("pickled", *train(pickled))

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "state.pt")
    torch.save({"network": network.state_dict(), "optimizer": optimizer.state_dict()}, path)
    show("size", os.path.getsize(path))
    for mapped in (False, True):
        loaded = torch.load(path, weights_only=True, mmap=mapped)
        again, others = Network(), None
        show("keys", again.load_state_dict(loaded["network"]))
        others = torch.optim.Adam(again.parameters())
        others.load_state_dict(loaded["optimizer"])
        again(batch).sum().backward()
        others.step()
        show("goes on", dict(again.named_parameters()), others.state_dict()["state"])
try:
    torch.load(io.BytesIO(b"no file of this kind"), weights_only=True)
except Exception as error:
    show("refused", type(error).__name__)
