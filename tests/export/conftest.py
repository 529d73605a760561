"""Certificates of every kind an engine may be given, from a real system that ships."""

import zlib
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from examples import docstrings

import surecut as sc
from tests.cli.conftest import surecut  # noqa: F401


@pytest.fixture(scope="session")
def scifact():
    return sc.read_table("example:scifact-bm25-minilm")


@pytest.fixture(scope="session")
def certificates(scifact):
    data = scifact

    def made(**options):
        certificate = sc.calibrate(data, **{"target": sc.max_drop(0.05), **options})
        assert certificate.certified
        return certificate

    return SimpleNamespace(
        softmax=made(),
        rank=made(rule="rank"),
        rank_append=made(rule="rank", tail="append"),
        score=made(rule="score", min_keep=0),
        score_at_least=made(rule="score", min_keep=2),
        score_append=replace(made(rule="score", min_keep=0), tail="append"),
        score_capped=made(rule="score", min_keep=0, max_keep=30),
        gap=made(rule="gap", min_keep=3),
        fused=made(rule="rank", fusion=0.1),
        agreement=made(rule="rank", target=sc.agreement(0.5, k=5)),
        own=made(rule="rank", measure=success_at_one),
        everything=sc.calibrate(data, target=sc.at_least(0.99)),
    )


def success_at_one(grades, missed):
    return float(len(grades) > 0 and grades[0] > 0)


@pytest.fixture(scope="session")
def vectors():
    """A few thousand real texts as vectors of 48 numbers, and questions in the same space: hashed words, projected."""
    collection = docstrings.load()
    questions = dict(list(collection.questions.items())[:150])
    hashed = [zlib.crc32(word.encode()) % 4096 for word in " ".join(collection.documents.values()).lower().split()]
    weights = 1 / np.sqrt(1 + np.bincount(hashed, minlength=4096))
    projection = np.random.default_rng(0).normal(size=(4096, 48)) * weights[:, None]

    def embedded(texts):
        rows = np.array([_counts(text) @ projection for text in texts])
        return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)

    return SimpleNamespace(
        names=list(collection.documents),
        documents=embedded(collection.documents.values()),
        asked=list(questions),
        questions=embedded(questions.values()),
    )


def _counts(text):
    counts = np.zeros(4096)
    for word in text.lower().split():
        counts[zlib.crc32(word.encode()) % 4096] += 1
    return counts


@pytest.fixture(scope="session")
def calibrated(vectors):
    """Certificates about an engine's own lists: `found` gives names and scores of a question, best first."""

    def made(found, depth, **options):
        first = {
            name: dict(zip(*found(vector, depth), strict=True))
            for name, vector in zip(vectors.asked, vectors.questions, strict=True)
        }
        draw = np.random.default_rng(1)
        second = {
            name: {each: score + draw.normal(0, 0.05) for each, score in listed.items()}
            for name, listed in first.items()
        }
        data = sc.Candidates.from_dicts(first, second)
        certificate = sc.calibrate(data, target=sc.agreement(0.7, k=5), **options)
        assert certificate.certified
        assert certificate.mean_kept < depth / 2
        return certificate, first

    return made
