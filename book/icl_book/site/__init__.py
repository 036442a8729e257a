"""Pages, PDF and releases from executed notebooks.

- `assemble`: checks executed notebooks and runs jupyter-book. `stage`: writes the tree that it reads.
- `card`: a verdict card as HTML, from its record.
- `audit`: what pages show of claims and cards, in the audit and as numbers in prose.
- `markdown`: turns plain Markdown into MyST: boxes, folds, targets, terms and captions.
- `second`: numbers of pages beside their second computations.
- `verify`: what a finished book must satisfy. `extension`: our Sphinx extension.
- `machines`: a Markdown twin of each page, and `llms.txt`. `pdf`: the book as one PDF.
- `release`: everything of a release in one folder.
"""
