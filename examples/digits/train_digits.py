#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trains the network of the digits example and writes digits.safetensors: its weights and the test split.

Needs: pip install torch scikit-learn safetensors.  Run once by us; the example needs only the file.
Layouts: images and activations NCHW, convolution weights OIHW, dense weights [in, out].
"""
import pathlib

import torch
from safetensors.torch import save_file
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.nn import functional as F

SEED = 20
TEST_SHARE = 0.25
EPOCHS = 60
BATCH = 32
MAX_SHIFT_PIXELS = 1
WEIGHT_DECAY = 1e-4
PIXEL_MAX = 16.0  # the data set counts set bits of 4x4 blocks: 0..16


class DigitNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.dense1 = nn.Linear(32 * 4 * 4, 64)
        self.dense2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.conv1(x))
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.dropout(x.flatten(1), 0.3, self.training)
        x = F.dropout(F.relu(self.dense1(x)), 0.3, self.training)
        return self.dense2(x)


def split():
    digits = load_digits()
    images = torch.tensor(digits.images / PIXEL_MAX, dtype=torch.float32).unsqueeze(1)
    labels = torch.tensor(digits.target, dtype=torch.int64)
    train, test = train_test_split(range(len(labels)), test_size=TEST_SHARE, random_state=SEED, stratify=labels)
    return images[train], labels[train], images[test], labels[test]


def shifted(images):
    """Moves each image by up to MAX_SHIFT_PIXELS in both directions, filling with background."""
    pad, side = MAX_SHIFT_PIXELS, images.shape[-1]
    padded = F.pad(images, (pad, pad, pad, pad))
    offsets = torch.randint(0, 2 * pad + 1, (len(images), 2)).tolist()
    return torch.stack([padded[i, :, y : y + side, x : x + side] for i, (y, x) in enumerate(offsets)])


def train(images, labels):
    torch.manual_seed(SEED)
    net = DigitNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=3e-3, weight_decay=WEIGHT_DECAY)
    steps = EPOCHS * ((len(labels) + BATCH - 1) // BATCH)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    for epoch in range(EPOCHS):
        net.train()
        total = 0.0
        for batch in torch.randperm(len(labels)).split(BATCH):
            loss = F.cross_entropy(net(shifted(images[batch])), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item() * len(batch)
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {total / len(labels):.4f}", flush=True)
    return net.eval()


def tensors_of(net, images, labels):
    return {
        "conv1.weight": net.conv1.weight, "conv1.bias": net.conv1.bias,
        "conv2.weight": net.conv2.weight, "conv2.bias": net.conv2.bias,
        "dense1.weight": net.dense1.weight.T, "dense1.bias": net.dense1.bias,
        "dense2.weight": net.dense2.weight.T, "dense2.bias": net.dense2.bias,
        "test.images": images, "test.labels": labels,
    }


def main():
    torch.use_deterministic_algorithms(True)
    torch.set_num_threads(1)
    train_images, train_labels, test_images, test_labels = split()
    net = train(train_images, train_labels)
    with torch.no_grad():
        right = (net(test_images).argmax(1) == test_labels).sum().item()
        training_right = (net(train_images).argmax(1) == train_labels).sum().item()
    print(f"training split: {training_right} of {len(train_labels)}")
    print(f"test split: {right} of {len(test_labels)} right, {100 * right / len(test_labels):.2f} %")
    path = pathlib.Path(__file__).with_name("digits.safetensors")
    save_file({name: t.detach().contiguous() for name, t in tensors_of(net, test_images, test_labels).items()}, path)
    print(f"wrote {path.name}: {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
