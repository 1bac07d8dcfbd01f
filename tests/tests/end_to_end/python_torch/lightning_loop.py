"""Four steps of a module of Lightning's, of which a method calls the parts."""

import lightning
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook

torch.manual_seed(1)
torch.set_num_threads(1)


def at_its_peak(*_):
    torch.zeros(1 << 24)


# The imports have a peak as well, and these networks are small: the process has its own where the optimizer begins.
register_optimizer_step_pre_hook(at_its_peak)


class Network(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.encoder = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU())
        self.head = torch.nn.Linear(128, 32)

    def training_step(self, batch, _):
        images, labels = batch
        return torch.nn.functional.cross_entropy(self.head(self.encoder(images)), labels)

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


data = torch.utils.data.TensorDataset(torch.randn(64, 64), torch.randint(0, 32, (64,)))
silent = dict(logger=False, enable_checkpointing=False, enable_progress_bar=False, enable_model_summary=False)
trainer = lightning.Trainer(max_steps=4, accelerator="cpu", devices=1, **silent)
trainer.fit(Network(), torch.utils.data.DataLoader(data, batch_size=16))
