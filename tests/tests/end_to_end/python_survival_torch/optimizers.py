"""Every optimizer of torch.optim, with the schedulers of their rates: what the parameters are after some steps. An optimizer that has no
row here is named."""

import torch
from torch import optim

from shown import Network, batch, labels, show

ROWS = {
    "Adadelta": [{}, {"foreach": False}],
    "Adafactor": [{}],
    "Adagrad": [{}, {"lr_decay": 0.1, "weight_decay": 0.1}],
    "Adam": [{}, {"amsgrad": True}, {"foreach": False}, {"fused": True}, {"maximize": True}],
    "AdamW": [{}, {"amsgrad": True}, {"fused": True}],
    "Adamax": [{}],
    "ASGD": [{}],
    "LBFGS": [{"max_iter": 3}, {"max_iter": 3, "line_search_fn": "strong_wolfe"}],
    "NAdam": [{}],
    "RAdam": [{}],
    "RMSprop": [{}, {"momentum": 0.9, "centered": True}],
    "Rprop": [{}],
    "SGD": [{"lr": 0.1}, {"lr": 0.1, "momentum": 0.9, "nesterov": True}, {"lr": 0.1, "foreach": False}, {"lr": 0.1, "fused": True}],
    # Each takes gradients or parameters of another kind.
    "SparseAdam": None,
    "Muon": None,
}
SCHEDULERS = {
    "StepLR": {"step_size": 1},
    "ExponentialLR": {"gamma": 0.9},
    "CosineAnnealingLR": {"T_max": 5},
    "LambdaLR": {"lr_lambda": lambda epoch: 1 / (1 + epoch)},
    "OneCycleLR": {"max_lr": 0.2, "total_steps": 6},
    "CyclicLR": {"base_lr": 0.01, "max_lr": 0.1},
}


def train(make, schedule=None):
    torch.manual_seed(1)
    network = Network()
    optimizer = make(network)
    scheduler = schedule and schedule(optimizer)
    rates = []

    def loss():
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(network(batch), labels)
        loss.backward()
        return loss

    for _ in range(3):
        last = optimizer.step(loss)
        if scheduler:
            scheduler.step()
            rates.append(scheduler.get_last_lr())
    again = make(network)
    again.load_state_dict(optimizer.state_dict())
    show("", last, dict(network.named_parameters()), optimizer.state_dict()["state"], rates, type(optimizer.step).__name__)


for name, all_options in sorted(ROWS.items()):
    for options in (all_options or []) if hasattr(optim, name) else []:
        show(name, options)
        train(lambda network: getattr(optim, name)(network.parameters(), **options))
for name, options in SCHEDULERS.items():
    show(name)
    schedule = getattr(optim.lr_scheduler, name)
    train(lambda network: optim.SGD(network.parameters(), 0.1, momentum=0.5), lambda optimizer: schedule(optimizer, **options))

sparse = torch.nn.Embedding(10, 4, sparse=True)
optimizer = optim.SparseAdam(sparse.parameters())
for _ in range(2):
    optimizer.zero_grad()
    sparse(torch.tensor([1, 2, 2])).sum().backward()
    optimizer.step()
show("SparseAdam", sparse.weight)
if hasattr(optim, "Muon"):
    network = Network()
    optimizer = optim.Muon([parameter for parameter in network.parameters() if parameter.dim() == 2])
    network(batch).sum().backward()
    optimizer.step()
    show("Muon", dict(network.named_parameters()))

seen = []
network = Network()
optimizer = optim.SGD(network.parameters(), 0.1)
optimizer.register_step_pre_hook(lambda *_: seen.append("before"))
optimizer.register_step_post_hook(lambda *_: seen.append("after"))
network(batch).sum().backward()
optimizer.step()
show("hooks", seen)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
with torch.autocast("cpu", dtype=torch.bfloat16):
    loss = network(batch).float().square().mean()
scaler.scale(loss).backward()
scaler.step(optimizer)
scaler.update()
show("scaled", loss, dict(network.named_parameters()), scaler.get_scale())
is_optimizer = lambda one: isinstance(one, type) and issubclass(one, optim.Optimizer) and one is not optim.Optimizer  # noqa: E731
show("without a row:", sorted(name for name in dir(optim) if is_optimizer(getattr(optim, name)) and name not in ROWS))
