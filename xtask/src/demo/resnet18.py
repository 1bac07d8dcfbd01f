"""Steps of torchvision's ResNet-18, with a table of owners after each part of a step: python resnet18.py BATCH STEPS.

Only the tables need the package alloc_tracker. Layers, phases, operators and what each tensor is for are told without it.
"""

import sys

import alloc_tracker
import torch
import torchvision

batch, steps = int(sys.argv[1]), int(sys.argv[2])
torch.manual_seed(1)
torch.set_num_threads(1)
model = torchvision.models.resnet18()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images, labels = torch.randn(batch * steps, 3, 224, 224), torch.randint(0, 1000, (batch * steps,))
data = torch.utils.data.TensorDataset(images, labels)
for images, labels in torch.utils.data.DataLoader(data, batch_size=batch):
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(images), labels)
    alloc_tracker.snapshot("end of forward")
    loss.backward()
    alloc_tracker.snapshot("end of backward")
    optimizer.step()
    alloc_tracker.snapshot("end of step")
