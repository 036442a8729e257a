# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Tiny
#
# A notebook for the tests of the pipeline.

# %%
import os
import time
from pathlib import Path

import pandas as pd
from IPython import get_ipython

from icl_book import notebook, statistics
from icl_book.claims import Case, judge

# %% tags=["parameters"]
dims = [2, 3]  # dimensions
noise_std = 0.5  # label noise
context_length = 4  # length
seed = 0  # 7 makes the verdict come out wrong, 8 a cell fail, 9 sleep until told

# %%
notebook.setup(globals())

# %%
print("constant is", statistics.FALSE_ALARM_RATE)
print("history is kept:", get_ipython().history_manager.enabled)
rates = pd.DataFrame({"rate": [statistics.FALSE_ALARM_RATE], "seed": noise_std})

# %%
if seed == 8:
    raise RuntimeError("planted\nfailure")
if seed == 9:
    Path("asleep").write_text(str(os.getpid()))
    while not Path("awake").exists():
        time.sleep(0.1)

# %%
one, minus = (-1.0 if seed == 7 else 1.0), -1.0
judge("X", Case("one", one, (one, one)), Case("minus one", minus, (minus, minus)))

# %%
notebook.footer()
