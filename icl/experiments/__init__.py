"""What the book's chapters measure and is too long for a cell: parameters in, tidy tables out.

- `tables`: settings as a table, medians of repeated runs, the classes by the names that the book prints.
- `theorem2`: the exact window over many decades, the proof sketch, trained units.
- `theorem3`: the price of the wrong window, its limits, units tested on other classes.
- `adaptive`: windows set inside the context.
- `certificates`: bounds over all matrices and over all Lipschitz functions.

Needs pandas, which comes with the extra ``notebook``. Nothing else in `icl` imports this package.
"""
