"""Exceptions that pass calls of modules, with their tracebacks, and what a program finds of hooks."""

import sys
import threading
import traceback

import torch
import torch.nn.modules.module as modules


class Raises(torch.nn.Module):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def forward(self, x, *, times=1):
        raise self.error


def fails(network, *arguments, **named):
    try:
        network(*arguments, **named)
    except BaseException:
        traceback.print_exc(file=sys.stdout)


torch.manual_seed(1)
rows = torch.ones(2, 3)
# An optimizer imports all that compiles, and compiles nothing.
trained = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2))
optimizer = torch.optim.SGD(trained.parameters(), lr=0.1, momentum=0.9)
for _ in range(2):
    optimizer.zero_grad()
    trained(rows).sum().backward()
    optimizer.step()
print("trained", trained[1].bias.tolist())

fails(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(3, 4)), rows)
fails(torch.nn.Sequential(torch.nn.Identity(), torch.nn.Sequential(Raises(KeyError("a key")))), rows)
fails(Raises(KeyboardInterrupt("stopped")), rows, times=2)
fails(Raises(StopIteration(7)), rows)
fails(torch.nn.Linear(3, 4))
fails(torch.nn.Linear(3, 4), rows, unknown=1)

hooked = torch.nn.Sequential(Raises(ValueError("within a hooked one")))
hooked.register_forward_hook(lambda module, args, result: print("after", type(module).__name__), always_call=True)
hooked.register_forward_pre_hook(lambda module, args: print("before", type(module).__name__))
fails(hooked, rows)

try:
    torch.nn.Module.__call__()
except TypeError as error:
    print("refused", error)

print("hooks of all modules", len(modules._global_forward_hooks), len(modules._global_forward_pre_hooks))
thread = threading.Thread(target=torch.nn.Sequential(torch.nn.Linear(5, 4)), args=(rows,))
thread.start()
thread.join()
torch.nn.Sequential(torch.nn.Identity(), torch.nn.Linear(4, 4))(rows)
