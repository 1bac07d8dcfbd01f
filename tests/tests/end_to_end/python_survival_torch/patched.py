"""Takes methods of PyTorch's classes, puts others in their place and puts the first ones back, as tools do for a time: twice, and pickles one."""

import inspect
import pickle

import torch
import torch.utils.data.dataloader as loading
from torch import nn
from torch.utils.data import DataLoader

network, batch = nn.Sequential(nn.Linear(4, 3), nn.ReLU()), torch.ones(2, 4)
counted = 0


def patched(owner, name, use):
    """Counts the calls of a method while this runs, and once more when it has been put back."""
    global counted
    own = getattr(owner, name)

    def counting(self, *args, **named):
        global counted
        counted += 1
        return own(self, *args, **named)

    setattr(owner, name, counting)
    use()
    setattr(owner, name, own)
    use()
    return own is getattr(owner, name)


def load():
    print("batches", [batch.tolist() for batch in DataLoader(torch.arange(4.0), batch_size=2)])


def call():
    print("results", network(batch).shape, network(input=batch).shape)


class Many(nn.Module):
    """Takes more arguments than fit where few are kept."""

    def forward(self, *args, **named):
        return sum(args) + sum(named.values())


for _ in range(2):
    print("the same", patched(loading._BaseDataLoaderIter, "__next__", load), patched(nn.Module, "_call_impl", call), counted)
numbers = [torch.tensor(float(number)) for number in range(20)]
print("many", Many()(*numbers), Many()(*numbers[:9], **{f"n{number}": one for number, one in enumerate(numbers)}))
print("signature", list(inspect.signature(nn.Module._call_impl).parameters), inspect.signature(network._call_impl))
print("pickled", pickle.loads(pickle.dumps(nn.Module._call_impl)) is nn.Module._call_impl)
try:
    network()
except TypeError as error:
    print("refused", error)
