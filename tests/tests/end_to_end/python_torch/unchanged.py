"""Uses much of what PyTorch has, and prints what comes out: it must be the same whether the program is recorded or not."""

import copy, io, os, threading, torch, torch.nn as nn, torch.utils.flop_counter
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)
torch.set_num_threads(1)


def print(*words):
    """The processes of the program share a pipe: a line is one write."""
    os.write(1, (" ".join(map(str, words)) + "\n").encode())


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(64, 64)
        self.act = nn.ReLU()
        self.b = nn.Linear(64, 10)
        self.drop = nn.Dropout(0.0)
        self.fail = False
        self.ck = None
        self.register_buffer("buf", torch.ones(64))

    def forward(self, x):
        h = (
            self.act(self.a(x * self.buf))
            if self.ck is None
            else checkpoint(lambda v: self.act(self.a(v * self.buf)), x, use_reentrant=self.ck)
        )
        if self.fail:
            raise ValueError("x")
        return self.b(self.drop(h))


def train(m, opt, x, y):
    opt.zero_grad()
    l = nn.functional.cross_entropy(m(x), y)
    l.backward()
    opt.step()
    return round(l.item(), 6)


x = torch.randn(16, 64)
y = torch.randint(0, 10, (16,))
m = Net()
o = torch.optim.AdamW(m.parameters())
print("plain", [train(m, o, x, y) for _ in range(2)])
m.fail = True
try:
    m(x)
except ValueError as e:
    print("exception", e)
m.fail = False
print("after", train(m, o, x, y))
xr = x.clone().requires_grad_()
for ck in (True, False):
    m.ck = ck
    print("checkpoint", ck, train(m, o, xr, y))
m.ck = None
c = copy.deepcopy(m)
print("deepcopy", train(c, torch.optim.SGD(c.parameters(), 0.1), x, y))
b = io.BytesIO()
torch.save(m, b)
b.seek(0)
n = torch.load(b, weights_only=False)
print("saved", train(n, torch.optim.SGD(n.parameters(), 0.1), x, y))
s = {k: v.clone() for k, v in m.state_dict().items()}
n.load_state_dict(s, assign=True)
print("assign", train(n, torch.optim.SGD(n.parameters(), 0.1), x, y))
with torch.no_grad():
    print("no_grad", round(m(x).sum().item(), 5))
with torch.inference_mode():
    print("inference", round(m(x).sum().item(), 5))
t = torch.jit.trace(m.eval(), x)
print("trace", round(t(x).sum().item(), 5))
m.train()
f = torch.fx.symbolic_trace(nn.Sequential(nn.Linear(64, 4), nn.ReLU()))
print("fx", tuple(f(x).shape))
sc = torch.jit.script(nn.Sequential(nn.Linear(64, 4), nn.ReLU()))
print("script", tuple(sc(x).shape))
from torch.func import functional_call, grad, vmap

p = dict(m.named_parameters())
g = grad(lambda p: functional_call(m, p, (x,)).sum())(p)
print("func", sorted(g), round(sum(v.abs().sum().item() for v in g.values()), 4))
print("vmap", tuple(vmap(lambda v: m.a(v))(x).shape))
xx = x.clone().requires_grad_()
(gx,) = torch.autograd.grad(m(xx).sum(), xx, create_graph=True)
gx.pow(2).sum().backward()
print("double", round(xx.grad.sum().item(), 5))
lb = torch.optim.LBFGS(m.parameters(), max_iter=2)


def closure():
    lb.zero_grad()
    l = nn.functional.cross_entropy(m(x), y)
    l.backward()
    return l


print("lbfgs", round(lb.step(closure).item(), 5))

try:
    torch.empty(1 << 60)
except RuntimeError as e:
    print("too large", str(e).split(". Error")[0].rsplit("]", 1)[-1])
for size in (0, 1, 1000):
    print("numbers", torch.arange(size).sum().item(), torch.empty(size).untyped_storage().nbytes())
with torch.profiler.profile() as prof:
    m(x).sum().backward()
print("profile", sorted((event.key, event.count) for event in prof.key_averages()))
with torch.utils.flop_counter.FlopCounterMode(display=False) as flops:
    m(x).sum().backward()
print("flops", flops.get_total_flops())
print("thread", threading.Thread().name, threading.active_count(), torch.get_num_threads())


class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, v):
        ctx.save_for_backward(v)
        return (v @ v.t()).sum()

    @staticmethod
    def backward(ctx, g):
        (v,) = ctx.saved_tensors
        with torch.enable_grad():
            w = v.detach().requires_grad_()
            (inner,) = torch.autograd.grad((w * 2).sum(), w)
        return g * (2 * v.sum(0) + inner)


xo = x.clone().requires_grad_()
Own.apply(xo).backward()
print("own", round(xo.grad.sum().item(), 3))


class DS(torch.utils.data.Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return torch.full((64,), float(i)), i % 10


if __name__ == "__main__":
    for w, ctx in ((0, None), (2, "fork"), (2, "spawn")):
        tot = 0
        for bx, by in torch.utils.data.DataLoader(DS(), 4, num_workers=w, multiprocessing_context=ctx):
            tot += bx.sum().item()
            train(m, torch.optim.SGD(m.parameters(), 0.01), bx, by)
        print("loader", w, ctx, tot)
    r = []
    ths = [threading.Thread(target=lambda: r.append(m(x).shape)) for _ in range(4)]
    [h.start() for h in ths]
    [h.join() for h in ths]
    print("threads", len(r))
    e = torch.export.export(nn.Sequential(nn.Linear(64, 4), nn.ReLU()), (x,))
    print("export", tuple(e.module()(x).shape))
    rnn = nn.LSTM(8, 8, batch_first=True)
    oo, _ = rnn(torch.randn(2, 3, 8))
    oo.sum().backward()
    print("lstm", tuple(oo.shape))
    lazy = nn.LazyLinear(3)
    print("lazy", tuple(lazy(x).shape))
    pr = nn.utils.parametrizations.weight_norm(nn.Linear(4, 4))
    pr(torch.randn(1, 4)).sum().backward()
    print("parametrized")
    try:
        n = nn.Module()
        n.register_parameter("p", None)
        print("none ok")
    except Exception as ex:
        print(ex)
    import torch._dynamo as d

    cm = torch.compile(Net(), backend="eager")
    print("compile", tuple(cm(x).shape))
    cm(x).sum().backward()
