from torch import nn

network = nn.Sequential(nn.Linear(1000, 500))
