"""PyTorch's programs without a change: modules become layers, and forward, loss, backward and optimizer become phases.

Only what PyTorch documents is used, and three functions that are wrapped: ``torch.autograd.backward``, ``torch.autograd.grad`` and
the iterator of ``DataLoader``. Modules of a program that compiles them (``torch.compile``) are left alone while that traces.

| file | what it has |
|---|---|
| ``tensors.py`` | the tensors in a value, and where a tensor's storage is |
| ``labels.py`` | parameters, buffers, gradients, optimizer state |
| ``phases.py`` | the phases and steps of a training loop |
| ``layers.py`` | the layers, by the paths of modules |
| ``watch.py`` | all of it installed, as soon as torch is imported |

Not told: operators, and which layer a backward operator works for. A tensor that is no module's output has its layer and phase, and
no category.
"""
