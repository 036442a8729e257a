"""Two small trained transformers: how they cut a text into tokens, and their queries and keys.

Only what is needed to run them on the tokens of a text, written from the files' own names: an encoder
(BERT with learned positions) and a causal model (Llama with rotary positions and shared key heads).
"""

from __future__ import annotations

import json
import re
import unicodedata
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from files import Tensors, gguf, safetensors
from numpy.typing import NDArray

#: Queries and keys of a layer, already divided by the square root of the head's dimension:
#: (contexts, heads, tokens, dim) both.
Heads = tuple[torch.Tensor, torch.Tensor]


@dataclass
class MiniLM:
    """The encoder: a text stands between its marks [CLS] and [SEP].

    Attributes:
        weights: Tensors by the names of the file.
        vocabulary: Numbers of the word pieces.
    """

    weights: dict[str, torch.Tensor]
    vocabulary: dict[str, int]
    layers: int = 6
    heads: int = 12
    causal: bool = False

    @classmethod
    def read(cls, weights: bytes, tokenizer: bytes) -> MiniLM:
        """Read the two files of the package."""
        return cls(_torch(safetensors(weights)), json.loads(tokenizer)["model"]["vocab"])

    def tokens(self, text: str) -> list[int]:
        """Cut a text into word pieces, without the marks: the longest known beginning first."""
        plain = unicodedata.normalize("NFD", text.lower())
        plain = "".join(c for c in plain if unicodedata.category(c) != "Mn")
        found: list[int] = []
        for word in re.findall(r"[^\W_]+|[^\w\s]|_", plain):
            found += self._pieces(word)
        return found

    def _pieces(self, word: str) -> list[int]:
        found, start = [], 0
        while start < len(word):
            ends = range(len(word), start, -1)
            prefix = "##" if start else ""
            end = next((e for e in ends if prefix + word[start:e] in self.vocabulary), None)
            if end is None:
                return [self.vocabulary["[UNK]"]]
            found.append(self.vocabulary[prefix + word[start:end]])
            start = end
        return found

    def framed(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """Put the marks around contexts, (contexts, tokens)."""
        ends = ((0, 0), (1, 1))
        marks = (self.vocabulary["[CLS]"], self.vocabulary["[SEP]"])
        return np.pad(tokens, ends, constant_values=((0, 0), marks))

    def hidden(
        self,
        tokens: NDArray[np.int64],
        positions: NDArray[np.int64],
        sharpening: float = 1.0,
        seen: list[Heads] | None = None,
    ) -> torch.Tensor:
        """Return the last layer's output, (contexts, tokens, width).

        Args:
            tokens: Contexts, (contexts, tokens), with their marks.
            positions: Of the tokens, (tokens,).
            sharpening: Multiplies all scores.
            seen: A list to which queries and keys of every layer are appended.
        """
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][torch.as_tensor(tokens)]
        x = x + w["embeddings.position_embeddings.weight"][torch.as_tensor(positions)]
        x = self._normed(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings")
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}"
            parts = (self._linear(x, f"{at}.attention.self.{p}") for p in ("query", "key", "value"))
            q, k, v = (_split(part, self.heads) for part in parts)
            q = q * sharpening / q.shape[-1] ** 0.5
            if seen is not None:
                seen.append((q, k))
            mixed = _joined(torch.softmax(q @ k.mT, -1) @ v)
            x = x + self._linear(mixed, f"{at}.attention.output.dense")
            x = self._normed(x, f"{at}.attention.output")
            inner = F.gelu(self._linear(x, f"{at}.intermediate.dense"))
            x = self._normed(x + self._linear(inner, f"{at}.output.dense"), f"{at}.output")
        return x

    def _linear(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return F.linear(x, self.weights[f"{name}.weight"], self.weights[f"{name}.bias"])

    def _normed(self, x: torch.Tensor, name: str) -> torch.Tensor:
        scale, shift = (self.weights[f"{name}.LayerNorm.{p}"] for p in ("weight", "bias"))
        return F.layer_norm(x, x.shape[-1:], scale, shift, 1e-12)


@dataclass
class SmolLM2:
    """The causal model: the first token of a text is its own mark.

    Attributes:
        weights: Tensors by the names of the file.
        vocabulary: Numbers of the pieces, in the alphabet of `_alphabet`.
        ranks: Pairs of pieces that are merged, by their order.
    """

    weights: dict[str, torch.Tensor]
    vocabulary: dict[str, int]
    ranks: dict[tuple[str, str], int]
    layers: int = 30
    heads: int = 9
    base: float = 100_000.0
    causal: bool = True

    @classmethod
    def read(cls, content: bytes) -> SmolLM2:
        """Read the one file of the package; ValueError if it is another model."""
        metadata, tensors = gguf(content)
        names = ("block_count", "attention.head_count", "rope.freq_base")
        found = tuple(metadata.get(f"llama.{name}") for name in names)
        if found != (cls.layers, cls.heads, cls.base):
            wanted = (cls.layers, cls.heads, cls.base)
            raise ValueError(f"layers, heads, base = {found}: must be {wanted}, as in SmolLM2-135M")
        pieces = {piece: i for i, piece in enumerate(metadata["tokenizer.ggml.tokens"])}
        pairs = (tuple(line.split(" ")) for line in metadata["tokenizer.ggml.merges"])
        return cls(_torch(tensors), pieces, {pair: i for i, pair in enumerate(pairs)})

    def tokens(self, text: str) -> list[int]:
        """Cut a text into pieces: words with the blank before them, digits alone."""
        found: list[int] = []
        known: dict[str, list[int]] = {}
        for word in re.findall(WORDS, text):
            if word not in known:
                known[word] = [self.vocabulary[p] for p in self._merged(word)]
            found += known[word]
        return found

    def _merged(self, word: str) -> list[str]:
        letters = _alphabet()
        pieces = [letters[byte] for byte in word.encode()]
        while len(pieces) > 1:
            pairs = list(zip(pieces, pieces[1:], strict=False))
            first = min(pairs, key=lambda pair: self.ranks.get(pair, len(self.ranks)))
            if first not in self.ranks:
                break
            joined, at = [], 0
            while at < len(pieces):
                both = tuple(pieces[at : at + 2]) == first
                joined.append("".join(first) if both else pieces[at])
                at += 1 + both
            pieces = joined
        return pieces

    def framed(self, tokens: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the contexts as they are."""
        return tokens

    def hidden(
        self,
        tokens: NDArray[np.int64],
        positions: NDArray[np.int64],
        sharpening: float = 1.0,
        seen: list[Heads] | None = None,
    ) -> torch.Tensor:
        """Return the last layer's output; see `MiniLM.hidden`."""
        w = self.weights
        x = w["token_embd.weight"][torch.as_tensor(tokens)]
        place = torch.as_tensor(positions, dtype=torch.float64)
        for layer in range(self.layers):
            at = f"blk.{layer}"
            y = _root_normed(x, w[f"{at}.attn_norm.weight"])
            q, k, v = (_split(y @ w[f"{at}.attn_{p}.weight"].T, 64, by_size=True) for p in "qkv")
            q = _rotated(q, place, self.base) * sharpening / 8
            k, v = (
                part.repeat_interleave(self.heads // part.shape[1], 1)
                for part in (_rotated(k, place, self.base), v)
            )
            if seen is not None:
                seen.append((q, k))
            mixed = _joined(F.scaled_dot_product_attention(q, k, v, is_causal=True, scale=1.0))
            x = x + mixed @ w[f"{at}.attn_output.weight"].T
            y = _root_normed(x, w[f"{at}.ffn_norm.weight"])
            gate, up = (y @ w[f"{at}.ffn_{p}.weight"].T for p in ("gate", "up"))
            x = x + (F.silu(gate) * up) @ w[f"{at}.ffn_down.weight"].T
        return _root_normed(x, w["output_norm.weight"])


#: Digits alone; words, and runs of other signs, with the blank before them.
WORDS = r"'(?:s|t|re|ve|m|ll|d)|\d| ?[^\W\d_]+| ?(?:[^\s\w]|_)+|\s+(?!\S)|\s+"


def _alphabet() -> list[str]:
    """Return a visible letter for each byte: its own, or one after the first 256 letters."""
    own = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in own]
    letters = dict(zip(own, own, strict=True)) | {b: 256 + i for i, b in enumerate(rest)}
    return [chr(letters[byte]) for byte in range(256)]


def _torch(tensors: Tensors) -> dict[str, torch.Tensor]:
    return {name: torch.from_numpy(np.array(tensor)) for name, tensor in tensors.items()}


def _split(x: torch.Tensor, count: int, by_size: bool = False) -> torch.Tensor:
    """Split the last axis into heads: (contexts, heads, tokens, dim)."""
    heads = x.shape[-1] // count if by_size else count
    return x.unflatten(-1, (heads, -1)).transpose(1, 2)


def _joined(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(2)


def _root_normed(x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
    return scale * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


def _rotated(x: torch.Tensor, place: torch.Tensor, base: float) -> torch.Tensor:
    """Turn neighboring pairs of entries by angles proportional to the position."""
    half = x.shape[-1] // 2
    angle = place[:, None] * base ** (-torch.arange(half, dtype=torch.float64) / half)
    cos, sin = angle.cos().float(), angle.sin().float()
    a, b = x[..., ::2], x[..., 1::2]
    return torch.stack([a * cos - b * sin, a * sin + b * cos], -1).flatten(-2)
