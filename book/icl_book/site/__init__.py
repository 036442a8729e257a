"""The site.

- `assemble`: checks executed notebooks and runs jupyter-book. `stage`: writes the tree that it reads.
- `pages`, `audit`, `export`, `findings`, `gallery`, `picture`, `sameness`: generated text and figures.
- `order`: the order of a page's cells. `numbers`: the box of numbers that a chapter keeps.
- `sources`: links from cards and figures to code. `verify`: what a finished book must satisfy.
- `extension`: our Sphinx extension.
"""
