"""The device of a chapter, in a separate file, because `-m gpu` imports only what a chapter needs."""

import pytest
import torch

from icl_book import provenance
from icl_book.parameters import BadInput


def test_device_setting(monkeypatch):
    monkeypatch.setenv("ICL_DEVICE", "cpu")
    assert str(provenance.device()) == "cpu"
    monkeypatch.setenv("ICL_DEVICE", "abacus")
    with pytest.raises(BadInput, match="ICL_DEVICE='abacus': must be one of cpu"):
        provenance.device()


@pytest.mark.gpu
def test_device_is_the_gpu_where_there_is_one(monkeypatch):
    monkeypatch.delenv("ICL_DEVICE", raising=False)
    torch.zeros(1, device=provenance.device())
    assert provenance.device().type == "cuda" and provenance.device_name().startswith("cuda (")


def test_a_device_that_nothing_was_computed_on_is_not_named(monkeypatch):
    monkeypatch.delenv("ICL_DEVICE", raising=False)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "a GPU")
    for computed, named in ((False, "cpu"), (True, "cuda (a GPU)")):
        monkeypatch.setattr(torch.cuda, "is_initialized", lambda computed=computed: computed)
        assert provenance.device_name() == named
