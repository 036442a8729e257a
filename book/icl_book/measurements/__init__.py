"""What the book's chapters measure and is too long for a cell: parameters in, tidy tables out.

- `tables`: one measurement in every setting (`tables.each`), medians of repeated runs, the classes by the
  names that the book prints. `sweeps`: slopes, and limits at the ends of sweeps.
- `layers`, `classification`, `closeness`, `functions`: several heads and layers, labels -1 and 1, what
  *close* means, other classes of functions.
- `tensor_trick`: formulas broken on purpose, five gradients, ranks, and counted operations.
- `kernel`: attention as a kernel estimate, its weights, bias and noise over w, best windows.
- `exact_risk`: against direct rules and sampling, bias + noise, cost.
- `lipschitz`: constants printed, proved, built and found. `curvature`: step sizes and passes.
- `target_shift`: moves of weights, data and target; layers that imitate a step.
- `theorem2`: the exact window over many decades, the proof sketch, trained units.
- `low_rank`: Theorem 4, over all matrices and trained; functions behind a nonlinear link.
- `gaussian`: Gaussian tokens and a ball: where the window stops, and what it leaves.
- `lemma1`: units on ellipsoids, and the sign of w.
- `phases`: the map of windows, waves, the law of smooth classes, much noise, no noise, long contexts.
- `theorem3`: the price of the wrong window, its limits, units tested on other classes.
- `certificates`: other matrices than multiples of the identity, and bounds over all Lipschitz functions.
- `pretraining`: how M grows, finitely many contexts, finite time. `learned`: units with all matrices free.
- `rivals`: linear attention, neighbors, ridge regression. `activations`: sigmoid, tanh, ReLU attention.
"""
