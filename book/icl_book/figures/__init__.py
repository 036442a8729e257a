"""What draws in a chapter.

- `plots`: how figures and tables of the book look.
- `narrow`: a second drawing of a figure, for a phone.
- `interactive`: a figure with sliders, which moves without a kernel.
- `surroundings`: maps around a place, which an interactive figure shows above its curves.
"""
