"""Errors quote the input no longer than can be read, and without anything that a terminal would act on."""

import pytest

from surecut import InputError


@pytest.mark.parametrize("sentence", ["plain", "naïve 文書", "a tab\tis fine", 'it\'s "quoted" \\ '])
def test_a_sentence_is_kept(sentence):
    assert InputError(sentence).sentence == str(InputError(sentence)) == sentence


def test_a_long_sentence_is_shortened_in_the_middle():
    shown = InputError(f"some.run, line 3: '{'x' * 1_000_000}' is no number").sentence
    assert len(shown) < 2100
    assert shown.startswith("some.run, line 3: 'xxx")
    assert shown.endswith("xxx' is no number")


def test_control_characters_and_halves_of_characters_are_shown_as_escapes():
    assert InputError("id '\x1b[2J\x00\u202e\ud800'").sentence == r"id '\x1b[2J\x00\u202e\ud800'"
