# ---
# jupyter:
#   jupytext:
#     cell_metadata_filter: tags,mystnb,-all
#     formats: ipynb,py:percent
#     notebook_metadata_filter: kernelspec,-all
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Title of the chapter
#
# **Short answer.** The result with its numbers and its direction, in three sentences.

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [2, 3, 5]  # dimensions d of the covariates
context_length = 100  # number n of labeled examples in a context
noise_std = 0.5  # standard deviation sigma of the label noise

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import matplotlib.pyplot as plt

from icl.risk import optimal_window
from icl.tasks import ReLU
from icl_book import notebook, plots

notebook.setup(globals())

# %% mystnb={"figure": {"caption": "Optimal window $w^*$ against the dimension $d$, ReLU class, exact.", "name": "fig-chapter"}, "image": {"alt": "A curve of the optimal window against the dimension."}} tags=["hide-input"]
windows = [optimal_window(ReLU(d), context_length, noise_std).w for d in dims]
figure, ax = plt.subplots()
plots.exact_curve(ax, dims, windows)
ax.set(xlabel="dimension $d$", ylabel="optimal window $w^*$")
plt.show()

# %% [markdown]
# ## What is printed
#
# > The statement, verbatim (its source).
#
# ```{admonition} Corrected
# :class: tip
# What is true instead, if it needs a correction.
# ```

# %% [markdown]
# ## What is measured
#
# What the next cell computes, and why.

# %% tags=["remove-input"]
notebook.footer()
