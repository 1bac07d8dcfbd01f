"""Networks of one type, and one that another uses that it is no part of."""

import alloc_tracker
import torch
from torch import nn

x = torch.randn(256, 64)
several = [nn.Sequential(nn.Linear(64, 64)) for _ in range(3)]
kept = [network(x) for network in several]
alloc_tracker.snapshot("several")


class Student(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.own = nn.Linear(64, 32)
        self.teacher = [teacher]

    def forward(self, x):
        with torch.no_grad():
            taught = self.teacher[0](x)
        return self.own(x), taught


class Teacher(nn.Sequential):
    pass


student = Student(Teacher(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 32)))
kept.append(student(x))
alloc_tracker.snapshot("taught")
