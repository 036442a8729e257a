# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Title of the chapter
#
# **Short answer.** The result with its numbers and its direction, in three sentences.

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

# %% [markdown]
# ## In plain words
#
# What happens, and in which direction.
#
# ## As printed, and what is true
#
# > The statement, verbatim (its source).
#
# > **What is true.** What holds instead, if it needs a correction.
#
# ## By hand
#
# A case small enough for a pencil.
#
# ## Experiment
#
# What the next cell computes, and why. To try $d=7$, replace the first line of the next cell by `dims = [7]`.

# %%
dims = list(dims)  # or [7], for example
windows = [optimal_window(ReLU(d), context_length, noise_std).w for d in dims]
for d, w in zip(dims, windows, strict=True):
    print(f"d = {d}: best w = {w:.2f}")

# %% figure={"alt": "A curve of the best window parameter against the dimension.", "name": "fig-chapter"}
figure, ax = plt.subplots()
plots.exact_curve(ax, dims, windows)
ax.set(xlabel="dimension d", ylabel="window parameter w*")
plt.show()

# %% [markdown]
# **A title of a few words.** Best window parameter $w^*$ against the dimension $d$, ReLU class, exact.
#
# **Exercise 1.** A question that a reader can answer with this page.
#
# <details><summary>Solution</summary>
#
# The answer, with its reason.
#
# </details>
#
# ## To remember
#
# One sentence.

# %% jupyter={"source_hidden": true} tags=["remove-input"]
notebook.footer()
