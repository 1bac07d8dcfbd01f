"""Four steps of a module of Lightning's, of which a method calls the parts."""

import lightning
import torch

import peak  # noqa: F401

torch.manual_seed(1)
torch.set_num_threads(1)


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
