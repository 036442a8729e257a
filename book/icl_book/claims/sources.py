"""What the quotations were read from; the place of a quotation begins with the key of its source."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Source:
    """A text that was read."""

    name: str  #: Short, as a card prints it
    reference: str  #: What it is
    how: str  #: How it was read


SOURCES = {
    "abstract1": Source(
        name="abstract of arXiv 2402.11639",
        reference="Collins, Parulekar, Mokhtari, Sanghavi, Shakkottai, In-Context Learning with "
        "Transformers: Softmax Attention Adapts to Function Lipschitzness, arXiv 2402.11639, abstract",
        how="public abstract page",
    ),
    "talk": Source(
        name="ITA slides",
        reference="Slides of the authors' talk on arXiv 2402.11639 at ITA, 23 February 2024",
        how="text read from slides by OCR, with its errors; most slides are seen once",
    ),
    "openreview": Source(
        name="OpenReview page of arXiv 2402.11639",
        reference="Reviews, authors' rebuttals and decision on In-Context Learning with Transformers: "
        "Softmax Attention Adapts to Function Lipschitzness, NeurIPS 2024, OpenReview lfxIASyLxB",
        how="text of a public page, in which each formula stands twice, garbled and as LaTeX",
    ),
    "summary1": Source(
        name="machine-written summary of arXiv 2402.11639",
        reference="Summary of arXiv 2402.11639 written by a language model (public in taesiri/ArXivQA)",
        how="text of a public file; not by the authors",
    ),
    "notes1": Source(
        name="this project's notes on paper 1",
        reference="Reading notes of this project on arXiv 2402.11639 and what is public about it",
        how="notes in which other texts are quoted or described; not a source by the authors",
    ),
    "abstract2": Source(
        name="abstract of arXiv 2307.02419",
        reference="Gao, Song, Xie, In-Context Learning for Attention Scheme: from Single Softmax Regression "
        "to Multiple Softmax Regression via a Tensor Trick, arXiv 2307.02419, abstract",
        how="public abstract page",
    ),
    "summary2": Source(
        name="machine-written summary of arXiv 2307.02419",
        reference="Summary of arXiv 2307.02419 written by a language model",
        how="text of a public file; not by the authors, with a few quotations of the paper",
    ),
    "tldr2": Source(
        name="machine-written TL;DR of arXiv 2307.02419",
        reference="Machine-written TL;DR of arXiv 2307.02419 at sciencestack.ai",
        how="public page; not by the authors",
    ),
    "notes2": Source(
        name="formulas of other papers in this project's notes",
        reference="Reading notes of this project on arXiv 2307.02419 and the papers around it (2309.07418, "
        "2402.04497, 2306.14048, 2304.13276), with their formulas",
        how="notes in which formulas of other papers are quoted; the papers themselves were read by others",
    ),
    "closeness": Source(
        name="abstract of arXiv 2304.13276",
        reference="Li, Song, Xia, Yu, Zhou, The Closeness of In-Context Learning and Weight Shifting for "
        "Softmax Regression, arXiv 2304.13276, abstract, last sentence",
        how="public abstract page",
    ),
    "largeprompt": Source(
        name="abstract of arXiv 2512.11784",
        reference="Boursier, Boyer, Softmax as Linear Attention in the Large-Prompt Regime: a Measure-based "
        "Perspective, arXiv 2512.11784v1, abstract",
        how="public abstract page",
    ),
}
