"""PyTorch's programs without a change: modules become layers, and forward, loss, backward and optimizer become phases.

Of Python's PyTorch only what it documents is used, and what is wrapped: ``run_backward`` of autograd's engine, the iterator of
``DataLoader``, and the call of a module. Modules of a program that compiles them (``torch.compile``) are left alone
while that traces. Operators, and the layers for which those of the backward pass work, come from libtorch itself, which promises
nobody how: a trial at the start shows whether it is understood (``operators.py``).

| file | what it has |
|---|---|
| ``library.py`` | the preloaded library's functions for this |
| ``operators.py`` | the trial, after which libtorch tells of operators and storages |
| ``tensors.py`` | the tensors in a value, and where a tensor's storage is |
| ``labels.py`` | parameters, buffers, gradients, optimizer state |
| ``phases.py`` | the phases and steps of a training loop |
| ``running.py`` | the modules that run on each thread |
| ``layers.py`` | the layers, by the paths of modules |
| ``calls.py`` | how the calls of modules are told |
| ``compiling.py`` | the phase in which ``torch.compile`` compiles |
| ``watch.py`` | all of it installed, as soon as torch is imported |

Not told: which module within a region that ``torch.compile`` made, and the operators within a function of
``torch.utils.checkpoint`` with ``use_reentrant=True``, which belong to ``CheckpointFunction``.
"""
