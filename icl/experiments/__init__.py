"""What the book's chapters measure and is too long for a cell: parameters in, tidy tables out.

- `tables`: settings as a table, medians of repeated runs, the classes by the names that the book prints.
- `theorem2`: the exact window over many decades, the proof sketch, trained units.
- `low_rank`: Theorem 4, over all matrices and trained; `links`: functions behind a nonlinear link.
- `gaussian`: Gaussian tokens and a ball: where the window stops, and what it leaves.

Needs pandas, which comes with the extra ``notebook``. Nothing else in `icl` imports this package.
"""
