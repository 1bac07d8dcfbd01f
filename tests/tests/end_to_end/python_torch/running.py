"""Modules that run within each other, fail, are stopped, and run on two threads. Each keeps what shows in which layer it runs."""

import sys
import threading

import alloc_tracker
import alloc_tracker._torch.running as own

if sys.argv[1] == "the package":
    own.running = lambda library: own._Running(library, {})

import torch

kept = []


class Keeps(torch.nn.Module):
    def __init__(self, numbers, parts=(), error=None, makes=0):
        super().__init__()
        self.numbers, self.parts, self.error, self.makes = numbers, torch.nn.ModuleList(parts), error, makes

    def keep(self):
        kept.append(torch.empty(self.numbers))

    def forward(self, x):
        self.keep()
        for part in self.parts:
            try:
                part(x)
            except (ValueError, KeyboardInterrupt):
                pass
            self.keep()
        if self.makes:
            Keeps(self.makes)(x)
        if self.error is not None:
            raise self.error
        return x


net = Keeps(
    1000,
    [
        Keeps(2000, [Keeps(3000, makes=5000)]),
        Keeps(4000, error=ValueError("failed")),
        Keeps(6000, error=KeyboardInterrupt("stopped")),
    ],
)
net(torch.ones(1, requires_grad=True))
thread = threading.Thread(target=net, args=(torch.ones(1, requires_grad=True),))
thread.start()
thread.join()
kept.append(torch.empty(7000))
alloc_tracker.snapshot("kept")
print("done")
