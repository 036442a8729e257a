# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Title of the chapter: its answer
#
# *Which question does it answer?*

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d of the covariates
context_length = 100  # number n of labeled examples in a context
noise_std = 0.5  # standard deviation sigma of the label noise

# %% jupyter={"source_hidden": true} mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt

from icl.risk import optimal_window
from icl.tasks import ReLU
from icl_book import notebook
from icl_book.figures import plots

notebook.setup(globals())

# %% figure={"alt": "A curve of the best window parameter against the dimension.", "name": "fig-chapter"} jupyter={"source_hidden": true} tags=["hide-input"]
windows = [optimal_window(ReLU(d), context_length, noise_std).w for d in dims]
figure, ax = plt.subplots()
plots.exact_curve(ax, dims, windows)
ax.set(xlabel="dimension d", ylabel="window parameter w*")
plt.show()

# %% [markdown]
# **A title of a few words.** Best window parameter $w^*$ against the dimension $d$, ReLU class, exact.
#
# **In short.** The answer, with its direction and its size, in three or four sentences.
#
# <details><summary>How sure?</summary>
#
# Its cards, the settings, what is new and what is known.
#
# </details>
#
# ## Why
#
# What happens, in which direction, and for which reason.
#
# ## The experiment
#
# What the next cell computes, which line to change, and what to expect.

# %% tags=["experiment"]
from icl.risk import optimal_window
from icl.tasks import ReLU

dim = 5  # or 7, for example
optimal_window(ReLU(dim), n=100, noise_std=0.5).w

# %% [markdown]
# **Exercise 1.** A question that a reader can answer with this page.
#
# <details><summary>Solution</summary>
#
# The answer, with its reason.
#
# </details>
#
# ## What the paper says
#
# > The statement, verbatim (its source).
#
# What is true, in one sentence, and its card.
#
# ## For specialists
#
# Further theorems, and proofs under a fold.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
