"""The file from which a sweep that was stopped goes on: arrays only, written whole, for that sweep alone."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from icl.checks import shown
from icl.pretrain.config import OF_UNITS
from icl.pretrain.model import Array
from icl.pretrain.sweep import Sweep
from icl.pytorch import torch


class Checkpoint:
    """The file of a sweep: how far it came, its state there, and what it recorded on the way.

    State and record are unit by unit, so that a run may go on with another number of threads.

    Which sweep it is, the file says by settings, by numbers of the units, and by the start and the labels of
    a first context of each unit, which depend on class, covariates and random streams.
    """

    def __init__(self, path: Any, sweep: Sweep):
        if not isinstance(path, str | Path) or not Path(path).parent.is_dir():
            raise ValueError(f"checkpoint={shown(path)}: must be a path in a folder that is there")
        self.path, self.sweep = Path(path), sweep
        said = [f"{name}={value!r}" for name, value in vars(sweep.settings).items()]
        for name in (*OF_UNITS, "activation"):
            said.append(f"{name} of the units={[getattr(unit, name) for unit in sweep.units]!r}")
        self.order = sweep.order()
        start = sweep.state[0, self.order].cpu().numpy()
        self.identity = {"said": np.array(said), "start": start, "labels": sweep.labels()}

    def load(self) -> None:
        """Set the sweep to where the file says that it came, if there is a file.

        Raises:
            ValueError: If the file is no checkpoint, or that of another sweep.
        """
        if not self.path.exists():
            return
        name, own = f"checkpoint={shown(self.path)}", self.identity
        try:
            with np.load(self.path, allow_pickle=False) as file:
                found = dict(file)
            others = [f"with {text}" for text in np.setdiff1d(found["said"], own["said"])]
            if not others and not np.array_equal(found["start"], own["start"]):
                others = ["with another start"]
            if not others and not self._alike(found["labels"]):
                others = ["with other labels"]
            state, history, step = found["state"], found["history"], int(found["step"])
        # of one array in place of several, NumPy opens no file
        except (ValueError, KeyError, OSError, EOFError, BadZipFile, TypeError):
            raise ValueError(f"{name}: is no checkpoint of icl.pretrain") from None
        if others:
            raise ValueError(f"{name}: is of another sweep, {others[0]}")
        for rows, kept in ((self.sweep.state, state), (self.sweep.history, history)):
            rows[:, self.order] = torch.from_numpy(kept).to(rows.device)
        self.sweep.step = step

    def _alike(self, labels: Array) -> bool:
        """Return whether labels are those of this sweep, up to rounding by the processor at hand."""
        ends = np.cumsum([unit.context_length + 1 for unit in self.sweep.units])[:-1]
        both = (np.split(some, ends) for some in (labels, self.identity["labels"]))
        return all(
            np.allclose(one, other, rtol=0, atol=1e-4 * np.abs(other).max())
            for one, other in zip(*both, strict=True)
        )

    def save(self) -> None:
        """Write the file, all of it or nothing."""
        now: dict[str, Any] = self.identity | {"step": np.array(self.sweep.step)}
        for name in ("state", "history"):
            now[name] = getattr(self.sweep, name)[:, self.order].cpu().numpy()
        part = self.path.with_name(f".{self.path.name}.{os.getpid()}.part")
        try:
            with part.open("wb") as file:
                np.savez(file, **now)
            os.replace(part, self.path)
        finally:
            part.unlink(missing_ok=True)
