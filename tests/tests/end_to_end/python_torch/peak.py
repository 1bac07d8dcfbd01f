"""Puts the peak of the process that imports it to where a step of the optimizer begins. The imports have a peak as well, and these
networks are small."""

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook


def at_its_peak(*_):
    torch.zeros(1 << 24)


register_optimizer_step_pre_hook(at_its_peak)
