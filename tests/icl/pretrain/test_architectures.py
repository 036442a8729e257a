"""A first layer against explicit loops, and contexts against their streams."""

import torch

from icl.covariates import uniform_sphere
from icl.pretrain.architectures import mix_tokens, sample_contexts
from icl.streams import NativeStream, stream
from icl.tasks import ReLU

S, B, N, D = 2, 4, 5, 3


def on_sphere(rng, count):
    return uniform_sphere(rng, count, N + 1, D)


def normal(*shape):
    return torch.from_numpy(stream(1, "initialization").standard_normal(shape))


def test_first_layer_mixes_values_of_the_context():
    x, M, V = normal(S, B, N + 1, D), normal(S, D, D), normal(S, D, D)
    h = mix_tokens(M, V, x)
    for s in range(S):
        for b in range(B):
            for i in range(N + 1):
                weights = torch.exp(
                    torch.stack([x[s, b, j] @ M[s] @ x[s, b, i] for j in range(N)])
                )
                mixed = (
                    sum(weights[j] * V[s] @ x[s, b, j] for j in range(N))
                    / weights.sum()
                )
                assert torch.allclose(h[s, b, i], mixed)


def test_contexts_are_those_of_the_native_streams():
    task, noise_std = ReLU(D, 2.0), 0.3
    x, f, y = sample_contexts(task, on_sphere, noise_std, S, B, seed=7, step=3)
    assert x.shape == (S, B, N + 1, D) and f.shape == y.shape == (S, B, N + 1)
    tokens = uniform_sphere(NativeStream(7, "covariates", 3), S * B, N + 1, D)
    values = task.sample(NativeStream(7, "tasks", 3), S * B)(tokens)
    assert torch.equal(x.flatten(0, 1), tokens) and torch.equal(f.flatten(0, 1), values)
    noise = NativeStream(7, "noise", 3).standard_normal((S * B, N + 1))
    assert torch.allclose(y - f, noise_std * noise.reshape(S, B, N + 1), atol=1e-6)
    other = sample_contexts(task, on_sphere, noise_std, S, B, seed=7, step=4)
    assert not any(torch.equal(a, b) for a, b in zip((x, f, y), other, strict=True))
