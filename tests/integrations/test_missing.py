"""Without its library an integration says which extra to install."""

import importlib
import sys

import pytest

from surecut.extras import MissingExtra

EXTRAS = {
    "rerankers": ("rerankers", "rerankers"),
    "pyterrier": ("pyterrier", "pyterrier"),
    "langchain": ("langchain_core", "langchain"),
    "llama_index": ("llama_index.core", "llama-index"),
    "haystack": ("haystack", "haystack"),
    "ranx": ("ranx", "ranx"),
}


@pytest.mark.parametrize("name", EXTRAS)
def test_the_extra_is_named(name, monkeypatch):
    library, extra = EXTRAS[name]
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.delitem(sys.modules, f"surecut.integrations.{name}", raising=False)
    with pytest.raises(MissingExtra, match=rf"pip install 'surecut\[{extra}\]'"):
        importlib.import_module(f"surecut.integrations.{name}")
