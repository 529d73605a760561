"""Token numbers: BERT's frame, and only the document is cut."""

import json

import pytest

from surecut import InputError
from surecut.system.models.tokens import Tokenizer
from tests.system.making import CLS, SEP, WORDS, save_tokenizer, token_numbers

A, B, C, *_ = WORDS


@pytest.fixture
def tokenizer(tmp_path):
    """The tiny tokenizer with a limit."""
    save_tokenizer(tmp_path)
    return lambda limit=512: Tokenizer.from_folder(tmp_path, limit)


def test_a_pair_is_framed_and_its_segments_are_told_apart(tokenizer):
    (pair,) = tokenizer().pairs([f"{A} {B}"], [f"{C} nonsense"]).encodings
    assert (pair.ids, pair.type_ids) == token_numbers(f"{A} {B}", f"{C} nonsense")


def test_a_text_is_framed_and_cut_on_the_right(tokenizer):
    tokens = tokenizer(8).texts([" ".join(WORDS[:20]), A, ""])
    assert tokens.encodings[0].ids == token_numbers(" ".join(WORDS[:6]))[0]
    assert tokens.encodings[1].ids == token_numbers(A)[0]
    assert tokens.encodings[2].ids == [CLS, SEP]
    assert tokens.cut == [0]


def test_only_the_document_of_a_pair_is_cut(tokenizer):
    query, document = " ".join(WORDS[:5]), " ".join(WORDS[20:60])
    tokens = tokenizer(12).pairs([query, A], [document, B])
    assert tokens.encodings[0].ids == token_numbers(query, " ".join(WORDS[20:24]))[0]
    assert tokens.encodings[1].ids == token_numbers(A, B)[0]
    assert tokens.cut == [0]


def test_a_query_too_long_is_refused_with_its_text(tokenizer):
    long = " ".join(WORDS[:30])
    with pytest.raises(InputError, match=rf"the query '{long[:60]}\.\.\.' alone has 33 tokens and the model takes 12"):
        tokenizer(12).pairs([A, long], [B, C])


def test_a_refused_query_leaves_the_tokenizer_as_it_was(tokenizer):
    used = tokenizer(12)
    with pytest.raises(InputError):
        used.pairs([" ".join(WORDS[:30])], [B])
    assert len(used.texts([" ".join(WORDS)]).encodings[0].ids) == 12


@pytest.mark.parametrize("words", [6, 7, 8])
def test_a_query_near_the_limit_is_whole(tokenizer, words):
    query = " ".join(WORDS[:words])
    (pair,) = tokenizer(12).pairs([query], [" ".join(WORDS[20:40])]).encodings
    assert pair.ids == token_numbers(query, " ".join(WORDS[20 : 29 - words]))[0]


@pytest.mark.parametrize("words", [9, 10, 11])
def test_a_query_that_leaves_no_room_for_the_document_is_refused(tokenizer, words):
    with pytest.raises(InputError, match="shorten the query"):
        tokenizer(12).pairs([" ".join(WORDS[:words])], [" ".join(WORDS[20:40])])


def test_a_batch_is_padded_to_its_longest(tokenizer):
    batch = tokenizer().texts([A, f"{A} {B} {C}", f"{A} {B}"]).batch([0, 1])
    assert batch.ids.tolist() == [[*token_numbers(A)[0], 0, 0], token_numbers(f"{A} {B} {C}")[0]]
    assert batch.mask.tolist() == [[1, 1, 1, 0, 0], [1] * 5]


def test_special_tokens_are_known(tokenizer):
    assert tokenizer().special() == {0, 1, 2, 3}


def test_a_word_list_will_do_and_gives_the_same_tokens(tmp_path, tokenizer):
    (tmp_path / "words").mkdir()
    (tmp_path / "words" / "vocab.txt").write_text("\n".join(("[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS)))
    made = Tokenizer.from_folder(tmp_path / "words", 512)
    query, document = f"{A} {B}".upper(), f"{C} nonsense"
    (own,), (other,) = made.pairs([query], [document]).encodings, tokenizer().pairs([query], [document]).encodings
    assert (own.ids, own.type_ids) == (other.ids, other.type_ids)


def test_a_folder_without_a_tokenizer_says_what_is_missing(tmp_path):
    with pytest.raises(InputError, match=r"no tokenizer\.json; name a folder or model that has it"):
        Tokenizer.from_folder(tmp_path, 512)


@pytest.mark.parametrize("content", ["", "{}", "[1]", json.dumps({"model": {"type": "Nonsense"}})])
def test_a_broken_tokenizer_is_named(tmp_path, content):
    (tmp_path / "tokenizer.json").write_text(content)
    with pytest.raises(InputError, match=r"tokenizer\.json: not a tokenizer"):
        Tokenizer.from_folder(tmp_path, 512)
