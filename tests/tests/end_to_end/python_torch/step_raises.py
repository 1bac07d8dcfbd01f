"""An optimizer's steps raise more often than scopes can lie in each other, once on a second thread, while its closure runs a pass, and the
program goes on."""

import threading

import alloc_tracker
import torch
from torch import nn

torch.set_num_threads(1)
network = nn.Linear(64, 64)


class Raises(torch.optim.SGD):
    def step(self, closure=None):
        closure()
        raise MemoryError


optimizer = Raises(network.parameters(), lr=0.1)


def trains(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        try:
            optimizer.step(lambda: network(torch.ones(8, 64)).sum().backward())
        except MemoryError:
            pass


trains(300)
thread = threading.Thread(target=trains, args=(1,))
thread.start()
thread.join()
result = network(torch.ones(1000, 64))
kept = torch.ones(300_000)
alloc_tracker.snapshot("after")
