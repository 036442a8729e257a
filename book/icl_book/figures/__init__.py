"""Figures and tables of chapters.

- `plots`: how figures and tables of the book look.
- `narrow`: draws a figure a second time, for a phone.
- `interactive`: a figure with sliders, which moves without a kernel.
- `surroundings`: maps around a place, which an interactive figure shows above its curves.
- `unrolled`: examples on a circle, which an interactive figure shows beside its curves.
"""
