"""A first layer against explicit loops, contexts against their streams, and stacked training."""

import numpy as np
import torch

from icl.adam import minimize
from icl.attention import softmax_attention
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
                weights = torch.exp(torch.stack([x[s, b, j] @ M[s] @ x[s, b, i] for j in range(N)]))
                mixed = sum(weights[j] * V[s] @ x[s, b, j] for j in range(N)) / weights.sum()
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


def test_stacked_models_are_trained_as_if_alone():
    contexts = [sample_contexts(ReLU(D), on_sphere, 0.1, S, 16, 2, step) for step in range(10)]

    def train(models):
        def loss(step, M, c):
            x, _, y = (values[models] for values in contexts[step])
            guess = softmax_attention(x[..., :-1, :], y[..., :-1], x[..., -1, :], M.unsqueeze(-3))
            return ((c[:, None] * guess - y[..., -1]) ** 2).mean(-1)

        start = normal(S, D, D).float()[models], torch.ones(S)[models]
        return minimize(loss, start, 10, 0.1)[0]

    both, second = train(slice(None)), train(slice(1, 2))
    for a, b in zip(both, second, strict=True):
        assert np.allclose(a[1:], b, rtol=1e-4, atol=1e-5)
