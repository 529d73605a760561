"""Batches by length: every text once, in the order it came, whatever the batch size."""

import threading

import numpy as np
import pytest

from surecut.system.models.batches import run
from surecut.system.models.tokens import Tokenizer
from tests.system.making import save_tokenizer, texts


class Summing:
    """Gives the sum of each text's token numbers, and remembers the shapes it saw."""

    def __init__(self, batch_size, workers):
        self.batch_size, self.workers = batch_size, workers
        self.shapes, self._lock = [], threading.Lock()

    def __call__(self, batch):
        with self._lock:
            self.shapes.append(batch.ids.shape)
        return batch.ids.sum(axis=1, keepdims=True).astype(np.float32)


@pytest.fixture
def tokens(tmp_path):
    save_tokenizer(tmp_path)
    return Tokenizer.from_folder(tmp_path, 512).texts(texts(53))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_rows_come_back_in_the_order_of_the_texts(tokens, batch_size, workers):
    model = Summing(batch_size, workers)
    sums = run(model, tokens, lambda output, _: output[:, 0])
    assert sums.tolist() == [float(sum(each.ids)) for each in tokens.encodings]
    assert sum(rows for rows, _ in model.shapes) == 53
    assert max(rows for rows, _ in model.shapes) <= batch_size


def test_texts_of_like_length_go_together(tokens):
    model = Summing(8, 1)
    run(model, tokens, lambda output, _: output)
    widths = [width for _, width in model.shapes]
    assert widths == sorted(widths, reverse=True)
    padded = sum(rows * width for rows, width in model.shapes)
    assert padded < 1.15 * tokens.lengths().sum()


def test_what_a_worker_raises_is_raised(tokens):
    def finish(output, batch):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Summing(7, 2), tokens, finish)
