"""Tests of the gallery."""

from icl_book.site import gallery


def cell(name, caption, alt="A curve."):
    metadata = {"mystnb": {"figure": {"name": name, "caption": caption}, "image": {"alt": alt}}}
    return {
        "cell_type": "code",
        "metadata": metadata,
        "outputs": [{"data": {"image/svg+xml": f"<svg>{name}</svg>"}}],
    }


def test_each_figure_has_a_card_and_a_picture(tmp_path):
    content = {
        "cells": [
            {"cell_type": "markdown", "metadata": {}},
            cell("fig-a", "The first of these figures. More.", "A curve that falls. Below,\n another."),
            cell("fig-b", "B"),
        ]
    }
    text = gallery.page(
        {"one": content}, {"one": "Chapter one"}, tmp_path / "book" / "_generated" / "gallery"
    )
    assert text.count("grid-item-card") == 2
    assert ":link: fig-a" in text and ":img-top: /book/_generated/gallery/fig-a.svg" in text
    assert "\nThe first of these figures.\n" in text and "More" not in text
    assert (
        ":link-alt: A curve that falls.\n" in text
        and ":img-alt: A curve that falls. Below, another.\n" in text
    )
    assert "## [Chapter one](/notebooks/one.ipynb)" in text
    assert (tmp_path / "book/_generated/gallery/fig-b.svg").read_text() == "<svg>fig-b</svg>"


def test_a_caption_ends_at_a_full_stop_outside_mathematics(tmp_path):
    content = {"cells": [cell("fig-a", "Risk at $d = 1. 5$: a map. More.")]}
    text = gallery.page({"one": content}, {"one": "T"}, tmp_path / "a" / "b" / "c")
    assert "\nRisk at $d = 1. 5$.\n" in text


def test_a_chapter_without_figures_is_left_out(tmp_path):
    assert gallery.page({"one": {"cells": []}}, {"one": "T"}, tmp_path / "a" / "b" / "c") == ""


def test_a_caption_is_cut_where_it_says_enough():
    cut = gallery._first_sentence
    assert cut("Exact. Left: the best window on Gaussian tokens. Right: more.") == (
        "Exact. Left: the best window on Gaussian tokens."
    )
    assert cut("The paper's Fig. 1 with declared functions. Top: target.") == (
        "The paper's Fig. 1 with declared functions."
    )
    assert cut("Pretrained units (points: median over seeds) on the curve. More.") == (
        "Pretrained units (points: median over seeds) on the curve."
    )
    assert cut("The risk at $w=0.$ is large and falls. More.") == "The risk at $w=0.$ is large and falls."
