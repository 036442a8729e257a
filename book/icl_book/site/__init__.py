"""The site.

- `assemble`: checks executed notebooks and runs jupyter-book. `stage`: writes the tree that it reads.
- `audit`: what the audit shows. `judged`: numbers in short answers and findings, each a case of a card.
- `verify`: what a finished book must satisfy. `extension`: our Sphinx extension.
- `source`: a paper that a reader has, and what it says of a quotation, against the claims.
- `pdf`: the book as one PDF.
"""
