"""Three steps of ResNet-18 as torchvision has it, batch 8, with a table of owners after each part of a step."""

import torch
import torch.nn as nn

import alloc_tracker

torch.manual_seed(1)
torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, of, to, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(of, to, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(to)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(to, to, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(to)
        shrinks = stride != 1 or of != to
        self.downsample = nn.Sequential(nn.Conv2d(of, to, 1, stride, bias=False), nn.BatchNorm2d(to)) if shrinks else None

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        of = 64
        for number, to in enumerate((64, 128, 256, 512), 1):
            setattr(self, f"layer{number}", nn.Sequential(Block(of, to, 1 if number == 1 else 2), Block(to, to, 1)))
            of = to
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(512, 1000)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(torch.flatten(self.avgpool(x), 1))


model = ResNet()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
images, labels = torch.randn(24, 3, 224, 224), torch.randint(0, 1000, (24,))
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(images, labels), batch_size=8)
for batch, label in loader:
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(batch), label)
    alloc_tracker.snapshot("after forward")
    loss.backward()
    alloc_tracker.snapshot("after backward")
    optimizer.step()
    alloc_tracker.snapshot("after the step")
print(sum(parameter.numel() for parameter in model.parameters()))
