# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3 (ipykernel)
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Misprints elsewhere
#
# **Short answer.** Three formulas in papers near paper 2 are wrong as our notes have them: a sign {judged}`P2.misprint.sign`, a
# factor on the wrong side {judged}`P2.misprint.factors`, and two terms of a Hessian {judged}`P2.misprint.hessian`. We read the
# notes, not the papers, so the slips may be ours. None is in paper 2, and none touches a theorem that this book uses.

# %% tags=["remove-cell"]
import sys

if "google.colab" in sys.modules:  # a hosted notebook starts without the package
    from IPython import get_ipython

    url = "https://github.com/OWNER/icl-book"
    get_ipython().run_line_magic("pip", f"install -q icl[notebook]@git+{url}")

# %% mystnb={"code_prompt_show": "Parameters of this run"} tags=["parameters", "hide-input"]
dims = [2, 3, 5]  # dimensions d, each with 3 d tokens
draws = 10  # random problems for each d
seed = 0  # root of the random numbers

# %% mystnb={"code_prompt_show": "Imports"} tags=["hide-input"]
import matplotlib.pyplot as plt
import torch

from icl_book import notebook, plots
from icl_book.claims import judge
from icl_book.measurements import identities, misprints

notebook.setup(globals())

# %%
formulas = misprints.FORMULAS
table = identities.differences(formulas, dims, draws, seed, notebook.device())

# %% tags=["hide-input"]
figure, ax = plt.subplots(figsize=(5.8, 1.9))
names = list(formulas)
for how, marker, role in (
    ("repaired", "o", "corrected"),
    ("as printed", "X", "printed"),
):
    rows = table[table.what == how]
    label = how.replace("printed", "noted")
    ax.plot(rows.value, names, marker, color=plots.COLORS[role], label=label)
ax.axvline(1e-12, color=plots.COLORS["guide"], ls="--", lw=1.2, label="permitted")
ax.set(xscale="log", xlim=(1e-18, 1e3), xlabel="relative difference from the truth")
ax.set(ylim=(2.5, -0.5))
ax.legend(loc="center", fontsize=9)
plt.show()

# %% [markdown]
# ```{caption} fig-misprints
# :alt: Three rows, sign, factors and hessian. The dots of the repaired formulas lie near 1e-16, left of the dashed line at 1e-12;
# the crosses of the noted ones lie between one tenth and ten.
#
# Each formula as noted and as repaired, against the derivative that autograd computes (for the factors, against the product
# itself): largest difference over random problems, as a fraction of the largest number summed.
# ```
#
# ## In plain words
#
# A formula that is wrong in one sign still looks right. Random numbers find it at once: both sides are computed, and they agree
# to rounding or they do not. To blame a misprint one must exclude the other explanations, too. Every card below therefore tries
# other ways to read the noted formula, and lists the one that we cannot exclude: that the slip is in our notes. So the
# verdicts depend on the reading, and no paper is said to be wrong.
#
# The notes were made from the papers {cite:t}`zhang2023h2o`, {cite:t}`alman2024gradient` and {cite:t}`gao2025fast`, in part by
# OCR. The papers were not among our sources.
#
# ## By hand: which sign?
#
# For a {term}`softmax regression` $\frac12\Vert f-b\Vert^2$ the gradient in the scores is
# $f\circ(f-b)\mp f\,(f-b)^\top f$. Two tokens with scores $0$ and $b=(1,0)$ decide: $f=(\frac12,\frac12)$, $f-b=(-\frac12,\frac12)$,
# so $(f-b)^\top f=0$ and both signs give $(-\frac14,\frac14)$. This example is blind! Take $b=(1,1)$ instead: the scores can only
# change the loss through $f_1=1-f_2$, and at $f_1=f_2$ the loss is least, so the gradient is zero. With the minus it is
# $-\frac14+\frac14=0$, with the plus $-\frac12$.

# %%
f, b = torch.tensor([0.5, 0.5]), torch.tensor([1.0, 1.0])
inner = (f - b) @ f
print("with the minus:", (f * (f - b) - f * inner).tolist())
print("with the plus: ", (f * (f - b) + f * inner).tolist())
s = torch.zeros(2, requires_grad=True)
loss = 0.5 * (torch.softmax(s, -1) - b).square().sum()
print("autograd:      ", torch.autograd.grad(loss, s)[0].tolist())

# %% [markdown]
# ## The sign of a gradient
#
# In our notes {cite:t}`zhang2023h2o` have the plus, and papers by some of the same authors the minus that the product rule gives.

# %% tags=["hide-input"]
sign, others = misprints.evidence(table, "sign")
judge("P2.misprint.sign", sign, readings=others, labels=["which"], name="{which}")

# %% [markdown]
# ## A factor on the wrong side
#
# In our notes {cite:t}`alman2024gradient` scale the wrong factor of a product of low rank. The noted factors give
# $f\,\mathrm{diag}(r)$, where $r$ scales columns; the lemma is about $\mathrm{diag}(r)\,f$. That the product has low rank, which the
# lemma is for, is true either way. The other readings: $f$ stored by columns, and a tolerance of 1 %, since the paper only
# approximates $f$.

# %% tags=["hide-input"]
factors, others = misprints.evidence(table, "factors")
judge("P2.misprint.factors", factors, readings=others, labels=["which"], name="{which}")

# %% [markdown]
# ## Two terms of a Hessian
#
# In our notes {cite:t}`gao2025fast` give the Hessian of $\frac12(\gamma-e)^2$, $\gamma=\langle f,v\rangle$, with $c=\gamma-e$. By the
# product rule $\nabla\gamma=f\circ v-\gamma f$ and
# $\nabla^2\gamma=\mathrm{diag}(f\circ v)-\gamma\,\mathrm{diag}f-(f\circ v)f^\top-f(f\circ v)^\top+2\gamma ff^\top$, and the Hessian is
# $\nabla\gamma\nabla\gamma^\top+c\,\nabla^2\gamma$. Two of the noted terms differ from that. Our notes give only these two, so the
# readings try them together and one at a time, and without the factor $\tfrac12$.

# %% tags=["hide-input"]
hessian, others = misprints.evidence(table, "hessian")
judge("P2.misprint.hessian", hessian, readings=others, labels=["which"], name="{which}")

# %% [markdown]
# **Exercise 1.** Multiply out $\nabla\gamma\nabla\gamma^\top+c\,\nabla^2\gamma$. Which coefficient has
# $(f\circ v)f^\top+f(f\circ v)^\top$?
#
# ```{admonition} Solution
# :class: dropdown
# $-\gamma$ from the square of $\nabla\gamma$ and $-c$ from $c\,\nabla^2\gamma$: together $-(\gamma+c)$, where our notes have
# $-(2\gamma+c)$.
# ```
#
# ## To remember
#
# Two sides of a formula, one random problem, one subtraction: that finds a wrong sign. Whether the paper or the reader
# wrote it down wrongly is another question.

# %% tags=["remove-input"]
notebook.footer()
