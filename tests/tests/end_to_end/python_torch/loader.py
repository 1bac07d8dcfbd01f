"""A loader's worker hands six batches of 8 images over in shared memory, and the script holds two at a time. The sharing strategy is an
argument."""

import sys

import alloc_tracker
import torch
from torch.utils.data import DataLoader, Dataset


class Images(Dataset):
    def __len__(self):
        return 48

    def __getitem__(self, at):
        return torch.full((3, 224, 224), float(at))


if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy(sys.argv[1])
    total = 0.0
    for batch in DataLoader(Images(), batch_size=8, num_workers=1, multiprocessing_context="fork"):
        assert batch.is_shared() and batch.shape == (8, 3, 224, 224)
        held = batch
        # Reads all of it: a page of shared memory is in the resident set of those who have touched it.
        total += batch.double().mean().item()
        if batch[-1, 0, 0, 0] == 47:
            # The account of this instant.
            assert alloc_tracker.dump()
    print(total)
    del batch, held
