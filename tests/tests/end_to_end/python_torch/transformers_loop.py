"""Four steps of Hugging Face's Trainer, on a small BERT that is made from a config."""

import tempfile

import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

torch.manual_seed(1)
torch.set_num_threads(1)


def at_its_peak(*_):
    torch.zeros(1 << 24)


# The imports have a peak as well, and these networks are small: the process has its own where the optimizer begins.
register_optimizer_step_pre_hook(at_its_peak)
sizes = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, vocab_size=1000)
model = BertForSequenceClassification(BertConfig(**sizes))


def example(number):
    ids = torch.randint(0, 1000, (32,))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.tensor(number % 2)}


silent = dict(report_to=[], save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False)
with tempfile.TemporaryDirectory() as folder:
    asked = TrainingArguments(folder, per_device_train_batch_size=8, max_steps=4, use_cpu=True, **silent)
    Trainer(model=model, args=asked, train_dataset=[example(number) for number in range(32)]).train()
