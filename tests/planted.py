"""Copies of modules of `icl` with a planted bug."""

import sys
import types
from pathlib import Path


def planted(monkeypatch, names, old="", new=""):
    """Load copies of the modules ``names`` in this order, each using those before it; return them.

    A planted bug is the text ``old``, which occurs once in all of them, and what it becomes.
    """
    modules = [sys.modules[f"icl.{name}"] for name in names]
    texts = [Path(module.__file__).read_text() for module in modules]
    assert not old or sum(text.count(old) for text in texts) == 1, f"{old!r} must occur once"
    copies = []
    for module, text in zip(modules, texts, strict=True):
        copy = types.ModuleType(module.__name__)
        copy.__dict__.update({k: v for k, v in vars(module).items() if k in ("__file__", "__path__")})
        monkeypatch.setitem(sys.modules, module.__name__, copy)
        exec(compile(text.replace(old, new) if old else text, module.__file__, "exec"), vars(copy))
        copies.append(copy)
    return copies
