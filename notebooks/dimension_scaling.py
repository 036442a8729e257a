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
# # What the trick costs: five ways to one gradient
#
# **Short answer.** Nobody needs to build the Kronecker product: the operations of a
# closed form in three lines grow with the power
# {judged}`P2.scale.operations | closed form, n = d | .0f` of $n=d$, those of the explicit
# form with the power {judged}`P2.scale.operations | explicit, n = d | .0f`, and the
# explicit and the blockwise form soon run out of memory ({numref}`fig-scale-cost`).
# Where $n$ is large and $d$ small, the passes over $n\times n$ arrays cost more than the
# products; streaming removes them in $O(nd)$ memory ({judged}`P2.scale.memory`).

# %% tags=["parameters", "hide-input"] mystnb={"code_prompt_show": "Parameters of this run"}
dims = [16, 64]  # dimensions d, with as many tokens n, for every form
large_sizes = [256, 1024]  # the same, for forms that take at most a second there
n_values = [2048, 4096]  # tokens n at a fixed dimension of 16, for the growth of memory
memory_limit = 4.0  # GiB that a measured process may map beyond its libraries
repeats = 2  # timed repetitions, the fastest counts
seed = 0  # root of the random numbers

# %% tags=["hide-input"] mystnb={"code_prompt_show": "Imports"}
import json
import math

import matplotlib.pyplot as plt
import numpy as np
import torch
from IPython.display import display
from torch.utils.flop_counter import FlopCounterMode

from icl_book import measure, notebook, plots
from icl_book.claims import exact, judge, sampled

notebook.setup(globals())

# %% [markdown]
# ## What is printed
#
# The summary of paper 2 asks how the tensor trick affects "computational efficiency and
# scalability" and proposes to measure it at $d=16,64,256,1024$. Its Limitations: the
# trick "increases dimensionality from $d$ to $d^2$, which may be computationally
# prohibitive" (see {doc}`tensor_trick`). {cite:t}`alman2024gradient` (Lemmas 4.1 and
# C.8): the gradient can be computed in the time of an $n\times d\times n$ and an
# $n\times d\times d$ matrix product, which is $O(n^2d+nd^2)$ with ordinary
# multiplication; taken literally, the Kronecker form needs $O(n^2d^2)$.

# %% [markdown]
# ## In plain words
#
# All five ways compute $A_1^\top PA_2$ for the normalized loss.
#
# ```{list-table}
# :header-rows: 1
# :widths: 18 44 18 20
#
# * - form
#   - how
#   - operations
#   - numbers held
# * - explicit
#   - build $A_1\otimes A_2$; scores and gradient are products with it
#   - $4n^2d^2$
#   - $n^2d^2$
# * - blockwise
#   - build one block $\mathsf A_j$ at a time
#   - $4n^2d^2$
#   - $nd^2$
# * - autograd
#   - $A_1XA_2^\top$, softmax, and let PyTorch differentiate
#   - $4n^2d+4nd^2$ or a little more
#   - several $n^2$
# * - closed form
#   - `icl.tensor_trick.plain_gradient`
#   - $4n^2d+4nd^2$
#   - several $n^2$
# * - streaming
#   - `icl.tensor_trick.gradient`, which for small problems is the closed form: rows in tiles that fit the cache, compiled loops
#   - the same
#   - $nd$ and a tile or two
# ```
#
# ## By hand
#
# $n=d=1024$, float64. The explicit matrix: $8\cdot1024^4$ bytes, 8 TiB. One block: 8 GiB. One $n\times n$ array: 8
# MiB. The explicit form does $4\cdot1024^4$, about $4\cdot10^{12}$ operations; the closed form $8\cdot1024^3$, about
# $9\cdot10^9$: 512 times fewer.
#
# ````{admonition} What is assumed, and what we test
# :class: dropdown
# ```{list-table}
# :header-rows: 1
# :widths: 50 50
#
# * - assumption
#   - tested here
# * - all forms compute the same gradient
#   - asserted below, to 1e-10, before anything is timed
# * - $n=d$
#   - a choice; memory is also measured at fixed $d$ and growing $n$
# * - one core
#   - set in every measured process
# ```
# ````
#
# ## The experiment
#
# The code of the five forms is text, run here once to compare them and then in fresh processes. Each process may use
# {glue:text}`scale-limit:.0f` GiB of address space beyond what Python and its libraries take; a form *dies* when it asks for more.

# %%
FORMS = """
import torch
from icl.compiled import regressions  # once for all forms: numba takes long to load
from icl.streams import stream
from icl.tensor_trick import gradient as streamed, kron_block
from icl.tensor_trick import plain_gradient as closed, row_gradient
from icl_book import measure


def explicit(A1, A2, X, B):
    K = torch.kron(A1, A2)
    P = row_gradient((K @ X.reshape(-1, 1)).reshape(B.shape), B, "normalized")
    return (K.T @ P.reshape(-1, 1)).reshape(X.shape)


def blockwise(A1, A2, X, B):
    total, x = torch.zeros_like(X).reshape(-1, 1), X.reshape(-1, 1)
    for j in range(len(A1)):
        block = kron_block(A1, A2, j)
        p = row_gradient((block @ x).T, B[j:j + 1], "normalized")
        total += block.T @ p.T
    return total.reshape(X.shape)


def autograd(A1, A2, X, B):
    X = X.detach().requires_grad_()
    value = 0.5 * (torch.softmax(A1 @ X @ A2.T, -1) - B).square().sum()
    return torch.autograd.grad(value, X)[0]


def data(n, d, seed):
    rng = stream(seed, "tasks", d)
    shapes = (n, d), (n, d), (d, d), (n, n)
    A1, A2, X, B = (torch.from_numpy(rng.standard_normal(shape)) for shape in shapes)
    return A1, A2, X / d**1.5, B.softmax(-1)
"""

# %% tags=["hide-input"]
NAMES = {
    "explicit": "explicit",
    "blockwise": "blockwise",
    "autograd": "autograd",
    "closed": "closed form",
    "streamed": "streaming",
}
forms: dict = {}
exec(FORMS, forms)  # the same text that the fresh processes run
given = forms["data"](200, 5, seed)  # large enough for tiles
for name in NAMES:
    same = forms[name](*given), forms["explicit"](*given)
    assert torch.allclose(*same, rtol=1e-10, atol=1e-12), name
notebook.glue("scale-limit", memory_limit)

# %% [markdown]
# ### Operations, counted
#
# PyTorch counts the operations of all matrix products while a form runs. Judged is the exponent between two sizes: when
# $n=d$ doubles, when $n$ alone does, and when $d$ alone does.
#
# **Exercise 1.** Why can the streamed form not beat $n^2$ operations, and when could
# something?
#
# ```{admonition} Solution
# :class: dropdown
# A dense target $B$ has $n^2$ entries that all matter and must be read. If $B$ has low rank and the scores are small,
# softmax can be approximated by low-rank factors in $n^{1+o(1)}$ time {cite:p}`alman2024gradient`.
# ```


# %% tags=["hide-input"]
def operations(name, n, d):
    """Count the operations of one gradient."""
    with FlopCounterMode(display=False) as counter:
        forms[name](*forms["data"](n, d, seed))
    return counter.get_total_flops()


GROWING = {"n = d": (2, 2), "n, d fixed": (2, 1), "d, n fixed": (1, 2)}


def exponents(names, size, ways):
    """Compute exponents of the operations when n, d or both double, (form, way).

    The counts are whole numbers, so only the logarithm is rounded: the second value.
    """
    doubled = [[GROWING[way][i] * size for i in (0, 1)] for way in ways]
    counts = np.array(
        [
            [operations(name, *both) / operations(name, size, size) for both in doubled]
            for name in names
        ]
    )
    powers = np.log2(counts)
    return powers, np.spacing(np.log(counts)) / math.log(2) + np.spacing(powers)


fast, slow = ["closed", "streamed", "autograd"], ["explicit", "blockwise"]
ways = list(GROWING)
names, broken = (np.array([[NAMES[f]] for f in both]) for both in (fast, slow))
judge(
    "P2.scale.operations",
    exact("{form}, {growing}", *exponents(fast, 256, ways), form=names, growing=ways),
    exact(
        "{form}, {growing}",
        *exponents(slow, 16, ways[:1]),
        form=broken,
        growing=ways[:1],
    ),
)

# %% [markdown]
# ### Time and memory, measured
#
# Peak memory is what a fresh process holds at most during the first call, above what it held before; it is good to
# about 1 MiB. Each form and size has a process of its own, each judged peak eight.


# %% tags=["hide-input"]
LIMIT = f"measure.limit_memory({int(memory_limit * 2**30)})"


def measured(cells, repeats):
    """Measure forms at (name, n, d); a list, with None for one that died."""
    jobs = []
    for name, n, d in cells:
        few = 256 if name == "streamed" else 8  # loads the code; tiles need more rows
        setup = f"torch.set_num_threads(1); {name}(*data({few}, 4, 0)); {LIMIT}\n"
        setup += f"given = data({n}, {d}, {seed})"
        jobs.append((f"{name}(*given)", setup))
    return measure.in_subprocesses(jobs, FORMS, repeats)


def sizes_of(name):
    """Return the sizes n = d at which a form is tried."""
    if name not in slow:
        return [dims[-1], *large_sizes]  # the small ones take no time
    # a large block that fits into memory would not die, only take n^4 operations
    block = 8 * np.array(large_sizes, dtype=float) ** 3
    dies = (block >= memory_limit * 2**30) | (name == "explicit")
    return [*dims, *np.array(large_sizes)[dies].tolist()]


squares = [(name, n, n) for name in NAMES for n in sorted(sizes_of(name))]
seen = dict(zip(squares, measured(squares, repeats), strict=True))

# %% tags=["hide-input"]
costs, died = {}, {}
for name, n, _ in squares:
    if name not in died:
        if seen[name, n, n] is None:
            died[name] = n
        else:
            costs[name, n] = seen[name, n, n]
rows = []
for name in NAMES:
    last = max(n for form, n in costs if form == name)
    rows.append(
        [
            NAMES[name],
            f"{last}",
            f"{1e3 * costs[name, last].seconds:.0f}",
            f"{costs[name, last].peak_bytes / 2**20:.1f}",
            f"{died.get(name, 'no size tried')}",
        ]
    )
notebook.glue("scale-dies-explicit", died.get("explicit", "no size tried"))
notebook.glue("scale-dies-blockwise", died.get("blockwise", "no size tried"))
plots.table(
    ["form", "largest $n=d$ that ran", "milliseconds", "peak memory, MiB", "dies at"],
    rows,
    f"One gradient in a fresh process with one core and {memory_limit:g} GiB of "
    "address space, at the largest size tried",
)

# %% tags=["hide-input"] mystnb={"figure": {"caption": "Seconds for one gradient (left) and peak memory in bytes (right) against $n=d$, one core, float64, each point from a fresh process. Dashed: slopes 4 and 3 (time), drawn through the largest measured size of the explicit and the closed form. Crosses: the size at which a form asked for more memory than it was allowed. Peaks below 1 MiB, to which they are good, are left out.", "name": "fig-scale-cost"}, "image": {"alt": "Two log-log panels against n equal to d. Left: the explicit and the blockwise form rise steeply and end at 64; autograd, closed form and streaming rise more slowly, along slope three, to a fraction of a second at 1024. Right: the explicit form needs over a hundred megabytes at 64 and has a cross at 256; the others stay below a hundred megabytes up to 1024, except the blockwise form, which has a cross there."}}
figure, axes = plt.subplots(1, 2, figsize=(7.0, 3.6))
looks = zip(NAMES.items(), plots.PALETTE, "osD^v", strict=False)
for (name, label), color, marker in looks:
    own = {n: c for (form, n), c in costs.items() if form == name}
    seconds = [c.seconds for c in own.values()]
    axes[0].loglog(own.keys(), seconds, marker + "-", color=color, label=label)
    seen = {n: c.peak_bytes for n, c in own.items() if c.peak_bytes > 2**20}
    axes[1].loglog(seen.keys(), seen.values(), marker + "-", color=color)
    if name in died:
        axes[1].plot(died[name], memory_limit * 2**30, "X", color=color, markersize=9)
for name, slope in (("explicit", 4), ("closed", 3)):
    own = sorted(n for form, n in costs if form == name)
    end = costs[name, own[-1]].seconds
    start, decades = end * (own[0] / own[-1]) ** slope, math.log10(own[-1] / own[0])
    plots.guide(axes[0], own[0], start, slope, f"slope {slope}", decades)
right = 2.5 * max([*dims, *large_sizes])  # room for the name of the slope
axes[0].set_xlim(right=right)
axes[0].legend(fontsize=9, loc="lower right")
for ax, title in zip(axes, ("seconds", "peak memory (bytes)"), strict=True):
    ax.set_xlabel("n = d")
    ax.set_title(title)
plt.show()

# %% tags=["hide-input"]
common = max(n for n in dims if ("explicit", n) in costs)
ratio = costs["explicit", common].seconds / costs["closed", common].seconds
notebook.glue("scale-common", common)
notebook.glue("scale-ratio", ratio)
for name in NAMES:
    own = sorted(n for form, n in costs if form == name)
    seconds = [costs[name, n].seconds for n in own]
    one = len(own) == 1  # has no slope
    slope = math.nan if one else np.polyfit(np.log(own), np.log(seconds), 1)[0]
    notebook.glue(f"scale-fit-{name}", float(slope))

# %% [markdown]
# At $n=d=$ {glue:text}`scale-common` the closed form is {glue:text}`scale-ratio:.0f` times as fast as the explicit one.
# With {glue:text}`scale-limit:.0f` GiB the explicit form dies at $n=d=$ {glue:text}`scale-dies-explicit`, the blockwise
# one at {glue:text}`scale-dies-blockwise`. Fitted exponents of the time: explicit {glue:text}`scale-fit-explicit:.1f`,
# blockwise {glue:text}`scale-fit-blockwise:.1f`, autograd {glue:text}`scale-fit-autograd:.1f`, closed form
# {glue:text}`scale-fit-closed:.1f`, streaming {glue:text}`scale-fit-streamed:.1f`. Small sizes are dominated by the
# overhead of a call, and the points are few: they are shown, not judged.
#
# **Exercise 2.** At which $n=d$ does the explicit form die on your machine? Set
# `memory_limit` accordingly and try.
#
# ```{admonition} Solution
# :class: dropdown
# At $n=d\approx(M/8)^{1/4}$ for $M$ bytes: about 240 for 24 GiB.
# ```
#
# ### Memory of the streamed form
#
# At fixed $d$ the closed form holds several $n\times n$ arrays. The streamed form holds $n\times d$ arrays and a tile
# or two, beside the target $B$.
#
# **Exercise 3.** Count the numbers that autograd keeps between its forward and backward pass.
#
# ```{admonition} Solution
# :class: dropdown
# The softmax $F$ and the residual $F-B$: two $n\times n$ arrays, plus those it makes on the way back.
# ```


# %% tags=["hide-input"]
PROCESSES = 8  # that measure each judged peak


def memory_exponents(name):
    """Compute exponents of the peak memory in n, d = 16, one for two processes."""
    ends = n_values[0], n_values[-1]
    again = measured([(name, n, 16) for n in ends] * PROCESSES, 1)
    if None in again:
        raise ValueError(f"memory_limit={memory_limit:g}: too small for {NAMES[name]}")
    peaks = np.array([cost.peak_bytes for cost in again]).reshape(-1, 2)
    return np.log(peaks[:, 1] / peaks[:, 0]) / math.log(ends[1] / ends[0])


judge(
    "P2.scale.memory",
    sampled("streaming", memory_exponents("streamed")),
    sampled("closed form", memory_exponents("closed")),
)

# %% [markdown]
# ### Gradient and Hessian product against the best of others
#
# Measured by `benchmarks/tensor_trick.py` (`make bench`), not by this run: all contenders of a setting run in turn, round after
# round, and a ratio is the median over rounds of the contender's time over that of the streamed form.

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
bench = json.loads(notebook.data("benchmarks/results/tensor_trick.json").read_text())
others = {
    "closed form": "closed",
    "autograd": "autograd",
    "torch.func": "func",
    "torch.compile": "compile",
    "fused attention": "fused",
}
caption = (
    "Contender's time over that of the streamed form; above one the streamed form is "
    "faster. Rate: our operations in matrix products per second, over those of one "
    "product of size 1024 in the same rounds. "
    f"{bench['machine']['cpu']}, "
    f"{bench['threads']} threads, {bench['rounds']} rounds; load of the machine "
    f"{bench['load_before']:.1f} before and {bench['load_after']:.1f} after, our own "
    "included."
)


def cells(r):
    """Format the row of one setting."""
    ratios = r["times_ours"]
    return [
        f"{r['kind']}, {r['what']}, {r['dtype'].replace('float', '')} bits",
        f"{1e3 * r['median_seconds']['streaming']:.0f}",
        *(f"{ratios[name]:.2f}" if name in ratios else "–" for name in others),
        f"{r['share_of_product_rate']:.2f}",
    ]


for n, d in sorted({(r["n"], r["d"]) for r in bench["settings"]}, reverse=True):
    columns = [f"$n = {n}$, $d = {d}$", "ms, streamed", *others]
    rows = [cells(r) for r in bench["settings"] if (r["n"], r["d"]) == (n, d)]
    display(plots.table([*columns, "rate"], rows, f"n = {n}. {caption}"))

# %% tags=["hide-output", "hide-input"] mystnb={"code_prompt_show": "The table: {type}"}
kept = bench["memory"]
plots.table(
    ["one call in a fresh process", "peak memory, MiB", r"over one $n\times n$ array"],
    [
        [name, f"{value / 2**20:.1f}", f"{value / kept['bytes_of_n_by_n']:.2f}"]
        for name, value in kept.items()
        if "(" in name
    ],
    f"n = {kept['n']}, d = {kept['d']}, {kept['dtype']}; "
    "the data, target included, are not counted.",
)

# %% [markdown]
# At $n=4096$, $d=64$ the passes over $n\times n$ arrays bind everybody else; the streamed form makes them in the cache.
# At $n=d=1024$ the products bind everybody.
#
# A part of the ratios in 32 bits is not due to streaming: the version that was measured took its products in single
# precision from oneDNN, which was twice as fast there as PyTorch's `@`. Today's streamed form uses `@` in both precisions.
#
# ## What to remember
#
# *Is the $d^2$ of the trick practical?* (The summary's third open question.) As a formula, yes. As code, the explicit
# form dies between $n=d=64$ and 256 within the limit set here, and the blockwise one between 256 and 1024, while the
# closed form goes on.

# %% tags=["remove-input"]
notebook.footer()
