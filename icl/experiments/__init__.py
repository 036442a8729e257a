"""What the book's chapters measure and is too long for a cell: parameters in, tidy tables out.

- `tables`: settings as a table, medians of repeated runs, the classes by the names that the book prints.
- `layers`, `classification`, `closeness`, `functions`: several heads and layers, labels -1 and 1, what
  *close* means, other classes of functions.
- `exact_risk`: against direct rules and sampling, bias + noise, cost.
- `theorem2`: the exact window over many decades, the proof sketch, trained units.

Needs pandas, which comes with the extra ``notebook``. Nothing else in `icl` imports this package.
"""
