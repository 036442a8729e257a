"""The experiment is on the page: changing one line of it changes the table, the figure and the card."""

import re
import sys

import jupytext
import numpy as np
import pytest

from icl.risk import optimal_window
from icl.tasks import Spectrum
from icl_book import planet
from icl_book.provenance import ROOT
from icl_book.runner import single
from programs import program

LONGEST = 300
SIZES = {
    "n_values": f"[30, {LONGEST}]",
    "seeds": "2",
    "steps": "2",
    "batch_size": "4",
    "contexts": "2",
}
RECORDED = """
import matplotlib
matplotlib.use("Agg")
import icl_book.claims as claims
unrecorded = claims.judge
def recorded(claim, *evidence, **options):
    card = unrecorded(claim, *evidence, **options)
    if claim == "P1.planet.radius":
        print("CARD", [case["measured"] for case in card.record()["cases"]])
    return card
claims.judge = recorded
"""
PLOTTED = "ax.legend()\nplt.show()\n"  # the end of the cell beside the headline
DRAWN = """
print("FIGURE", figure.axes[0].lines[0].get_ydata().tolist())
"""


def needed(text):
    found = jupytext.reads(text, "py:percent").cells
    cells = [f"{cell.source}\n" for cell in found if cell.cell_type == "code"]
    (figure,) = [place for place, cell in enumerate(cells) if cell.endswith(PLOTTED)]
    places = {
        *single.list_needed_cells(cells, len(cells) - 1),
        *single.list_needed_cells(cells, figure),
    }
    return "".join(f"\n# %%\n{cells[place]}" for place in sorted(places))


def run(tmp_path, text, line, changed):
    for name, value in SIZES.items():
        # the line is in the parameters cell, because a later cell may repeat it
        text, found = re.subn(rf"(?m)^{name} = [^#\n]*", f"{name} = {value}  ", text, count=1)
        assert found == 1, name
    assert text.count(PLOTTED) == text.count(line) == 1
    text = text.replace(PLOTTED, PLOTTED + DRAWN)
    again = text[text.rindex("# %%", 0, text.index(line)) :].replace(line, changed)
    script = tmp_path / "planet.py"
    script.write_text(RECORDED + text + again)
    done = program(sys.executable, str(script), cwd=ROOT)
    assert done.returncode == 0, done.stderr[-800:]
    return [
        [[float(number) for number in numbers.split(",")] for numbers in found]
        for word in ("CARD", "FIGURE")
        if (found := re.findall(rf"^{word} \[(.*)\]$", done.stdout, re.M))
    ]


@pytest.mark.slow
def test_one_changed_line_of_the_headline_changes_the_figure_and_the_card(tmp_path):
    text = (ROOT / "notebooks" / "planet.py").read_text()
    judged = text.index('"P1.planet.radius",')
    text = needed(text[: text.index("# %%", judged)])
    line = "best = optimal_window(tasks[name], n, noise_std)"
    changed = line.replace("noise_std", "2 * noise_std")
    (card, other_card), (figure, other_figure) = run(tmp_path, text, line, changed)
    # the first two cases are those of the cell, the others have the noise of training
    assert all(wide > 1.2 * narrow for wide, narrow in zip(other_card[:2], card[:2], strict=True))
    assert other_figure != figure
    assert figure[-1] == pytest.approx(card[0], rel=1e-9), "the card judges what is drawn"
    # the field is a model with thirteen degrees, so its number is that of no raster
    power = np.array(planet.magnetic_power())
    field = Spectrum(3, tuple(power / power[1:].sum()))
    exact = planet.RADIUS * optimal_window(field, LONGEST, 0.5).w ** -0.5
    assert card[1] == pytest.approx(exact, rel=1e-9)
