"""Four steps of Hugging Face's Trainer, on a small BERT that is made from a config."""

import tempfile

import torch
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments

import peak  # noqa: F401

torch.manual_seed(1)
torch.set_num_threads(1)
sizes = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=2, intermediate_size=128, vocab_size=1000)
model = BertForSequenceClassification(BertConfig(**sizes))


def example(number):
    ids = torch.randint(0, 1000, (32,))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": torch.tensor(number % 2)}


silent = dict(report_to=[], save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False)
with tempfile.TemporaryDirectory() as folder:
    asked = TrainingArguments(folder, per_device_train_batch_size=8, max_steps=4, use_cpu=True, **silent)
    Trainer(model=model, args=asked, train_dataset=[example(number) for number in range(32)]).train()
