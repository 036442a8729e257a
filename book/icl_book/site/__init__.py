"""The site.

- `assemble`: stages executed notebooks and pages and runs jupyter-book. `pages`: generated text.
- `verify`: what a finished book must satisfy. `extension`: our Sphinx extension. `picture`: the first figure.
"""
