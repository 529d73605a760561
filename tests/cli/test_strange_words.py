"""Words in a certificate that are markup to a terminal, a page or a configuration file: shown as they are."""

import json

import pytest

from surecut.certificate import _digest

WORDS = ["[/]", "[/bold]", "[bold", "[link=http://x.example]y", "{}%s", "]]>-->*/", "$(x)`x`"]
FIELDS = {
    "statement": lambda word: {"statement": word},
    "measure": lambda word: {"measure": word},
    "assumptions": lambda word: {"assumptions": [word]},
    "tune": lambda word: {"tune": {"source": "fold", "queries": 3, "for": [word]}},
    "system": lambda word: {"system": {word: word}},
}


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("changed", FIELDS.values(), ids=FIELDS)
def test_strange_words_are_shown_as_they_are(surecut, certificate, tmp_path, changed, word):
    record = {**json.loads(certificate.read_text(encoding="utf-8")), **changed(word)}
    del record["digest"]
    (tmp_path / "strange.json").write_text(json.dumps({**record, "digest": _digest(record)}))
    assert surecut("show", "strange.json").status == 0
    differ = surecut("diff", certificate, "strange.json")
    assert (differ.status, differ.err) == (0, "")
    if changed is not FIELDS["statement"]:
        assert word in differ.out
    held = json.loads(surecut("show", "strange.json", "--json").out)
    assert {name: held[name] for name in changed(word)} == changed(word)
