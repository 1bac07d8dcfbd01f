"""Compiles in many ways, and prints what comes out and what Dynamo counts: it must be the same whether the program is recorded or not."""

import contextlib, io, logging, sys, traceback, warnings, torch, torch.nn as nn, torch._dynamo
from torch._dynamo.utils import counters

torch.manual_seed(0)
backend = sys.argv[1]


class Block(nn.Module):
    def __init__(self, breaks=False):
        super().__init__()
        self.a, self.norm, self.b, self.breaks = nn.Linear(32, 64), nn.LayerNorm(64), nn.Linear(64, 32), breaks

    def forward(self, x):
        h = torch.relu(self.a(x))
        if self.breaks:
            torch._dynamo.graph_break()
        return x + self.b(self.norm(h))


def counted(name, run, without="inductor"):
    """Runs it alone, with what Dynamo counts meanwhile."""
    torch._dynamo.reset()
    counters.clear()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(io.StringIO()) as told:
        warnings.simplefilter("always")
        result = run()
    own = [str(one.message)[:60] for one in caught]
    kept = {kind: dict(sorted(counts.items())) for kind, counts in sorted(counters.items()) if kind != without}
    print(name, result, kept, own, told.getvalue()[:300], flush=True)


def train(compiled, network, sizes=(8, 8, 8)):
    optimizer = torch.optim.AdamW(network.parameters())
    losses = []
    for size in sizes:
        optimizer.zero_grad()
        loss = compiled(torch.randn(size, 32)).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 5))
    return losses


def whole(breaks=False, **options):
    network = nn.Sequential(Block(breaks), Block(breaks))
    return train(torch.compile(network, backend=backend, **options), network)


def in_place():
    network = nn.Sequential(Block(), Block())
    network.compile(backend=backend)
    return train(network, network)


def of_parts():
    network = nn.Sequential(Block(), Block())
    network[1] = torch.compile(network[1], backend=backend)
    return train(network, network)


def step_as_function():
    network = nn.Sequential(Block(), Block())

    @torch.compile(backend=backend)
    def loss_of(x):
        return network(x).square().mean()

    loss = loss_of(torch.randn(4, 32))
    loss.backward()
    return round(loss.item(), 5)


def whole_step():
    network = nn.Sequential(Block(), Block())
    optimizer = torch.optim.SGD(network.parameters(), 0.1)

    @torch.compile(backend=backend)
    def step(x):
        optimizer.zero_grad()
        loss = network(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return [round(step(torch.randn(4, 32)).item(), 5) for _ in range(2)]


def optimizer_step():
    network = Block()
    optimizer = torch.optim.Adam(network.parameters())
    network(torch.randn(4, 32)).sum().backward()

    @torch.compile(backend=backend)
    def step():
        optimizer.step()

    step()
    step()
    return round(sum(one.sum().item() for one in network.parameters()), 4)


def gradient_inside():
    @torch.compile(backend=backend)
    def run(x):
        y = (x * x).sum()
        (gradient,) = torch.autograd.grad(y, x)
        return gradient * 2

    return round(run(torch.ones(4, requires_grad=True)).sum().item(), 4)


def without_gradients():
    network = nn.Sequential(Block(), Block()).eval()
    compiled = torch.compile(network, backend=backend)
    with torch.no_grad():
        first = round(compiled(torch.randn(4, 32)).sum().item(), 4)
    with torch.inference_mode():
        return first, round(compiled(torch.randn(4, 32)).sum().item(), 4)


def error():
    @torch.compile(backend=backend)
    def run(x):
        torch._dynamo.graph_break()
        return x @ torch.ones(7, 7)

    try:
        run(torch.ones(4, 4))
    except Exception as error:
        frames = [frame.name for frame in traceback.extract_tb(error.__traceback__)]
        return type(error).__name__, [name for name in frames if "alloc_tracker" in name]


def checkpointed():
    from torch.utils.checkpoint import checkpoint

    network = nn.Sequential(Block(), Block())
    return train(torch.compile(lambda x: checkpoint(network, x, use_reentrant=False), backend=backend), network)


logging.disable(logging.WARNING)
counted("whole", whole)
counted("with graph breaks", lambda: whole(breaks=True))
counted("fullgraph", lambda: whole(fullgraph=True))
counted("dynamic", lambda: train(torch.compile(network := Block(), backend=backend), network, (8, 5, 3, 1)))
counted("in place", in_place)
counted("parts", of_parts)
counted("function", step_as_function)
# An optimizer's step that has a hook, whose ever, is compiled in one frame less: what comes behind it has more to do than to return.
counted("whole step", whole_step, without="frames")
counted("optimizer", optimizer_step, without="frames")
counted("gradient", gradient_inside)
counted("inference", without_gradients)
counted("error", error)
counted("checkpoint", checkpointed)
with torch.profiler.profile() as profile:
    whole()
print("regions", sorted({event.key for event in profile.key_averages() if "Compiled" in event.key or "compiled" in event.key}))
