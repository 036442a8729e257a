"""The file from which a sweep that was stopped goes on: arrays only, written whole, for that sweep alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
import torch

from icl.checks import shown
from icl.pretrain.config import OF_UNITS
from icl.pretrain.sweep import Sweep


class Checkpoint:
    """The file of a sweep: how far it came, its state there, and what it recorded on the way.

    Which sweep it is, the file says by settings, by numbers of the units, and by the start and the labels of
    a first context of each unit, which depend on class, covariates and random streams.
    """

    def __init__(self, path: Any, sweep: Sweep):
        self.name = f"checkpoint={shown(path)}"
        if not isinstance(path, str | Path) or not Path(path).parent.is_dir():
            raise ValueError(f"{self.name}: must be a path in a folder that is there")
        self.path, self.sweep = Path(path), sweep
        said = vars(sweep.settings) | {
            f"{name} of the units": [getattr(unit, name) for unit in sweep.units]
            for name in (*OF_UNITS, "activation")
        }
        self.said = np.array([f"{name}={value!r}" for name, value in said.items()])
        start = sweep.state[0].clone().cpu().numpy()
        self.first = {"start": start, "labels": sweep.labels()}

    def load(self) -> None:
        """Set the sweep to where the file says that it came, if there is a file.

        Raises:
            ValueError: If the file is no checkpoint, or that of another sweep.
        """
        if not self.path.exists():
            return
        try:
            with np.load(self.path, allow_pickle=False) as file:
                found = dict(file)
            others = [f"with {text}" for text in np.setdiff1d(found["said"], self.said)]
            # labels are rounded by the processor at hand
            for name, digits in (("start", 0.0), ("labels", 1e-4)):
                own = self.first[name]
                if not others and not np.allclose(found[name], own, digits, digits):
                    others.append(f"with another {name}")
            step, state, history = (found[k] for k in ("step", "state", "history"))
        except (ValueError, KeyError, OSError, EOFError, BadZipFile):
            raise ValueError(f"{self.name}: is no checkpoint of icl.pretrain") from None
        if others:
            raise ValueError(f"{self.name}: is of another sweep, {others[0]}")
        self.sweep.step = int(step)
        self.sweep.state.copy_(torch.from_numpy(state))
        self.sweep.history.copy_(torch.from_numpy(history))

    def save(self) -> None:
        """Write the file, all of it or nothing."""
        arrays: dict[str, Any] = self.first | {
            "said": self.said,
            "step": np.array(self.sweep.step),
        }
        for name in ("state", "history"):
            arrays[name] = getattr(self.sweep, name).cpu().numpy()
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                np.savez(file, **arrays)
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)
