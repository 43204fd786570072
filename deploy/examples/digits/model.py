"""A small two-layer network in numpy, with its gradient written out."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

PIXELS, HIDDEN, DIGITS = 64, 32, 10
SHAPES = ((PIXELS, HIDDEN), (HIDDEN,), (HIDDEN, DIGITS), (DIGITS,))
PARAMETERS = sum(int(np.prod(shape)) for shape in SHAPES)
RATE, MOMENTUM = 0.01, 0.9


@dataclass(kw_only=True)
class Model:
    """The parameters of a small two-layer network as one vector, their momentum, and the step."""

    step: int = 0
    weights: Floats = field(default_factory=lambda: np.zeros(PARAMETERS))
    momentum: Floats = field(default_factory=lambda: np.zeros(PARAMETERS))

    @classmethod
    def fresh(cls, seed: int) -> "Model":
        """Return a model with small random weights."""
        return cls(weights=np.random.default_rng(seed).normal(0.0, 0.1, PARAMETERS))

    def pack(self) -> Floats:
        """Return the whole model as one vector, to be sent."""
        return np.concatenate(([float(self.step)], self.weights, self.momentum))

    def become(self, vector: Floats) -> None:
        """Take everything from a vector that `pack` made."""
        self.step = int(vector[0])
        self.weights, self.momentum = (part.copy() for part in np.split(vector[1:], 2))

    def learn(self, gradient: Floats) -> None:
        """Take one step of gradient descent with momentum."""
        self.momentum = MOMENTUM * self.momentum - RATE * gradient
        self.weights = self.weights + self.momentum
        self.step += 1


def layers(weights: Floats) -> list[Floats]:
    """Return the matrices and offsets that the vector consists of."""
    ends = np.cumsum([int(np.prod(shape)) for shape in SHAPES])[:-1]
    parts = zip(np.split(weights, ends), SHAPES, strict=True)
    return [part.reshape(shape) for part, shape in parts]


def loss_and_gradient(weights: Floats, pixels: Floats, labels: Floats) -> tuple[float, Floats]:
    """Return the cross-entropy loss and its gradient, both summed over the samples."""
    into, into_offset, out, out_offset = layers(weights)
    hidden = np.maximum(pixels @ into + into_offset, 0.0)
    scores = hidden @ out + out_offset
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    rows, right = np.arange(len(labels)), labels.astype(int)
    loss = -float(np.log(chances[rows, right] + 1e-12).sum())
    chances[rows, right] -= 1.0
    back = (chances @ out.T) * (hidden > 0)
    parts = (pixels.T @ back, back.sum(axis=0), hidden.T @ chances, chances.sum(axis=0))
    return loss, np.concatenate([part.ravel() for part in parts])
