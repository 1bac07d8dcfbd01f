"""Every module and every loss of torch.nn: a forward and a backward pass each, what they print, and their states. A module that has no row
here is named, so that a new one of PyTorch's is not passed over in silence."""

import torch
from torch import nn

from shown import show


def floats(*sizes):
    return torch.randn(*sizes, requires_grad=True)


def rows_of(names, arguments, *sizes):
    return {name: (arguments, lambda: [floats(*size) for size in sizes]) for name in names.split()}


def numbers(most, *sizes):
    return torch.randint(0, most, sizes)


MAPS = {1: (2, 4, 8), 2: (2, 4, 8, 8), 3: (2, 4, 8, 8, 8)}
ROWS = {
    **rows_of(
        "ReLU ReLU6 ELU SELU CELU GELU SiLU Mish Sigmoid Tanh LogSigmoid Softplus Softsign Softshrink Hardshrink Hardsigmoid Hardswish "
        "Hardtanh LeakyReLU RReLU Tanhshrink Identity PReLU Dropout AlphaDropout FeatureAlphaDropout Flatten",
        (),
        (2, 4, 8),
    ),
    **rows_of("Softmax Softmin LogSoftmax GLU", (1,), (2, 4, 8)),
    **rows_of("Softmax2d", (), (2, 4, 8, 8)),
    **rows_of("Threshold", (0.1, 20.0), (2, 4, 8)),
    **rows_of("Unflatten", (1, (2, 2)), (2, 4, 8)),
    **rows_of("Linear", (8, 3), (2, 4, 8)),
    **rows_of("LazyLinear", (3,), (2, 4, 8)),
    **rows_of("Bilinear", (4, 5, 6), (3, 4), (3, 5)),
    **rows_of("CosineSimilarity PairwiseDistance", (), (3, 4), (3, 4)),
    **rows_of("LayerNorm RMSNorm", (8,), (2, 4, 8)),
    **rows_of("GroupNorm", (2, 4), (2, 4, 8)),
    **rows_of("LocalResponseNorm", (2,), (2, 4, 8)),
    **rows_of("CrossMapLRN2d", (2,), (2, 4, 8, 8)),
    **rows_of("RNN LSTM GRU", (8, 6, 2), (5, 2, 8)),
    **rows_of("RNNCell LSTMCell GRUCell", (8, 6), (2, 8)),
    **rows_of("MultiheadAttention", (8, 2), (5, 2, 8), (5, 2, 8), (5, 2, 8)),
    **rows_of("TransformerEncoderLayer", (8, 2, 16), (5, 2, 8)),
    **rows_of("TransformerDecoderLayer", (8, 2, 16), (5, 2, 8), (4, 2, 8)),
    **rows_of("Transformer", (8, 2, 2, 2, 16), (5, 2, 8), (4, 2, 8)),
    **rows_of("PixelShuffle PixelUnshuffle ChannelShuffle", (2,), (2, 4, 8, 8)),
    **rows_of("Unfold", (3,), (2, 4, 8, 8)),
    **rows_of("Fold", ((8, 8), 2, 1, 0, 2), (2, 16, 16)),
    **rows_of("Upsample", (None, 2), (2, 4, 8)),
    **rows_of("UpsamplingNearest2d UpsamplingBilinear2d", (None, 2), (2, 4, 8, 8)),
    **rows_of("LPPool1d", (2, 2), MAPS[1]),
    **rows_of("LPPool2d", (2, 2), MAPS[2]),
    **rows_of("LPPool3d", (2, 2), MAPS[3]),
    **rows_of("FractionalMaxPool2d", (2, (3, 3)), MAPS[2]),
    **rows_of("FractionalMaxPool3d", (2, (3, 3, 3)), MAPS[3]),
    "Embedding": ((10, 4), lambda: [numbers(10, 2, 3)]),
    "EmbeddingBag": ((10, 4), lambda: [numbers(10, 2, 3)]),
    "TransformerEncoder": (lambda: (nn.TransformerEncoderLayer(8, 2, 16), 2, None, False), lambda: [floats(5, 2, 8)]),
    "TransformerDecoder": (lambda: (nn.TransformerDecoderLayer(8, 2, 16), 2), lambda: [floats(5, 2, 8), floats(4, 2, 8)]),
    "Sequential": (lambda: (nn.Linear(8, 4), nn.ReLU()), lambda: [floats(2, 8)]),
    "AdaptiveLogSoftmaxWithLoss": ((8, 20, [4, 10]), lambda: [floats(6, 8), numbers(20, 6)]),
    # Losses, and what they compare with.
    **rows_of("L1Loss MSELoss SmoothL1Loss HuberLoss", (), (3, 4), (3, 4)),
    "SoftMarginLoss": ((), lambda: [floats(3, 4), numbers(2, 3, 4) * 2 - 1]),
    "PoissonNLLLoss": ((), lambda: [floats(3, 4), torch.rand(3, 4)]),
    "BCELoss": ((), lambda: [floats(3, 4).sigmoid(), torch.rand(3, 4)]),
    "BCEWithLogitsLoss": ((), lambda: [floats(3, 4), torch.rand(3, 4)]),
    "CrossEntropyLoss": ((), lambda: [floats(3, 4), numbers(4, 3)]),
    "NLLLoss": ((), lambda: [floats(3, 4).log_softmax(1), numbers(4, 3)]),
    "NLLLoss2d": ((), lambda: [floats(3, 4, 2, 2).log_softmax(1), numbers(4, 3, 2, 2)]),
    "KLDivLoss": ((None, None, "batchmean"), lambda: [floats(3, 4).log_softmax(1), torch.rand(3, 4)]),
    "GaussianNLLLoss": ((), lambda: [floats(3, 4), floats(3, 4), torch.rand(3, 4) + 0.1]),
    "HingeEmbeddingLoss": ((), lambda: [floats(3, 4), numbers(2, 3, 4) * 2 - 1]),
    "CosineEmbeddingLoss": ((), lambda: [floats(3, 4), floats(3, 4), numbers(2, 3) * 2 - 1]),
    "MarginRankingLoss": ((), lambda: [floats(3), floats(3), numbers(2, 3) * 2 - 1]),
    "MultiMarginLoss": ((), lambda: [floats(3, 4), numbers(4, 3)]),
    "MultiLabelMarginLoss": ((), lambda: [floats(3, 4), numbers(4, 3, 4)]),
    "MultiLabelSoftMarginLoss": ((), lambda: [floats(3, 4), numbers(2, 3, 4)]),
    "CTCLoss": ((), lambda: [floats(6, 2, 5).log_softmax(2), 1 + numbers(4, 2, 3), torch.tensor([6, 6]), torch.tensor([3, 2])]),
    **rows_of("TripletMarginLoss TripletMarginWithDistanceLoss", (), (3, 4), (3, 4), (3, 4)),
}
for dimensions, sizes in MAPS.items():
    end = f"{dimensions}d"
    for name, arguments in (
        ("Conv", (4, 6, 3)),
        ("LazyConv", (6, 3)),
        ("ConvTranspose", (4, 6, 3)),
        ("LazyConvTranspose", (6, 3)),
        ("BatchNorm", (4,)),
        ("LazyBatchNorm", ()),
        ("InstanceNorm", (4,)),
        ("LazyInstanceNorm", (1e-5, 0.1, True, True)),
        ("Dropout", ()),
        ("MaxPool", (2,)),
        ("AvgPool", (2,)),
        ("AdaptiveMaxPool", (3,)),
        ("AdaptiveAvgPool", (3,)),
        ("ConstantPad", (1, 2.0)),
        ("ZeroPad", (1,)),
        ("ReflectionPad", (1,)),
        ("ReplicationPad", (1,)),
        ("CircularPad", (1,)),
    ):
        ROWS |= rows_of(name + end, arguments, sizes)
    pool = getattr(nn, "MaxPool" + end)(2, return_indices=True)
    ROWS["MaxUnpool" + end] = ((2,), lambda pool=pool, sizes=sizes: pool(floats(*sizes)))
# Containers and parents, which have no forward pass of their own, and one that needs processes.
WITHOUT = {"Module", "ModuleList", "ModuleDict", "ParameterList", "ParameterDict", "Container", "RNNBase", "RNNCellBase", "SyncBatchNorm"}
WITHOUT |= {"DataParallel"}


def tensors(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for one in value for tensor in tensors(one)] if isinstance(value, (tuple, list)) else []


def check(name, arguments, inputs):
    torch.manual_seed(1)
    module = getattr(nn, name)(*(arguments() if callable(arguments) else arguments))
    given = inputs()
    for trains in (True, False):
        module.train(trains)
        result = module(*given)
        floating = [tensor for tensor in tensors(result) if tensor.requires_grad]
        sum(tensor.square().sum() for tensor in floating).backward(retain_graph=True)
        show(name, result, [one.grad for one in given if one.is_leaf and one.requires_grad])
    show(module, {key: value.grad for key, value in module.named_parameters()}, dict(module.named_buffers()))
    again = getattr(nn, name)(*(arguments() if callable(arguments) else arguments))
    # A lazy module has no sizes before it has run.
    again(*given)
    show("state", again.load_state_dict(module.state_dict()), tensors(again.eval()(*given)))


for name in sorted(ROWS):
    if hasattr(nn, name):
        check(name, *ROWS[name])
is_module = lambda one: isinstance(one, type) and issubclass(one, nn.Module)  # noqa: E731
print("without a row:", sorted(name for name in dir(nn) if is_module(getattr(nn, name)) and name not in ROWS and name not in WITHOUT))
