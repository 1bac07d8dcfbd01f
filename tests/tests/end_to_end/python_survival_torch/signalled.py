"""Signals that arrive while PyTorch computes in C: what their handlers raise comes to the program, and training goes on."""

import signal

import torch

torch.set_num_threads(1)
torch.manual_seed(1)
side = 700


class Late(Exception):
    pass


class Chain(torch.nn.Module):
    def __init__(self, length):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.eye(side))
        self.length = length

    def forward(self, rows):
        for _ in range(self.length):
            rows = rows @ self.weight
        return rows


def late(_number, _frame):
    raise Late


def waits_in(what, run):
    """One that comes while this runs, which takes much longer."""
    for name, handler in ("KeyboardInterrupt", signal.default_int_handler), ("Late", late):
        signal.signal(signal.SIGALRM, handler)
        try:
            run()
            print("nothing", what, name)
        except (KeyboardInterrupt, Late) as error:
            print("raised", type(error).__name__, "in", what)


def backward():
    whole = network(rows).sum()
    signal.setitimer(signal.ITIMER_REAL, 0.1)
    whole.backward()
    print("after backward")


network = Chain(60)
rows = torch.ones(side, side)
optimizer = torch.optim.SGD(network.parameters(), lr=1e-9)
waits_in("backward", backward)

# Small modules, where much of the time is the package's: each of many signals is seen.
small = torch.nn.Sequential(*[torch.nn.Linear(4, 4) for _ in range(3)])
for name, handler in ("KeyboardInterrupt", signal.default_int_handler), ("Late", late):
    seen = 0

    def counts(number, frame):
        global seen
        seen += 1
        handler(number, frame)

    signal.signal(signal.SIGALRM, counts)
    caught = 0
    while seen < 200:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.0005)
            while True:
                small(torch.ones(1, 4)).sum().backward()
        except (KeyboardInterrupt, Late):
            caught += 1
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(name, "lost", seen - caught)

for _ in range(2):
    optimizer.zero_grad()
    network(rows).sum().backward()
    optimizer.step()
print("trained", float(network.weight.detach().sum()))
