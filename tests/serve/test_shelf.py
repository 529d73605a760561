"""Certificates by name; files that change while they are served."""

import os
from pathlib import Path

import pytest

import surecut as sc
from surecut.certificate import load_certificate
from surecut.errors import InputError
from surecut.serve.shelf import Shelf, named


@pytest.fixture
def shelf(paths):
    return Shelf(paths, load_certificate)


def test_names_are_given_or_those_of_the_files(tmp_path):
    odd = tmp_path / "a=b.json"
    odd.touch()
    assert {name: path.name for name, path in named(["x/shop.json", "help=y/cert.json"]).items()} == {
        "shop": "shop.json",
        "help": "cert.json",
    }
    with pytest.raises(InputError, match="'a=b' is no name"):
        named([str(odd)])
    with pytest.raises(InputError, match="two certificates are named 'cert'"):
        named(["a/cert.json", "b/cert.json"])
    with pytest.raises(InputError, match="is no name"):
        named(["../x=cert.json"])


def test_an_unchanged_file_is_left_alone(shelf):
    before = shelf["main"]
    assert shelf.reload() == []
    assert shelf["main"] is before


def test_a_changed_file_takes_its_place(shelf, paths, certificates):
    certificates["top"].save(paths["main"])
    assert [each.name for each in shelf.reload()] == ["main"]
    assert shelf["main"].certificate.digest == certificates["top"].digest
    assert shelf["main"].problem is None


@pytest.mark.parametrize("content", ["", "{", '{"schema": 1}', "tampered", None])
def test_a_broken_file_is_refused_and_the_old_one_stays(shelf, paths, certificates, content):
    before = paths["main"].read_text()
    if content is None:
        paths["main"].unlink()
    else:
        paths["main"].write_text(before.replace("0.05", "0.04") if content == "tampered" else content)
    (found,) = shelf.reload()
    assert found.problem
    assert shelf["main"].certificate.digest == certificates["main"].digest
    assert shelf.reload() == []  # it is said once
    paths["main"].write_text(before)
    (mended,) = shelf.reload()
    assert mended.problem is None


def test_a_pipe_in_a_files_place_is_not_waited_for(shelf, paths):
    paths["main"].unlink()
    os.mkfifo(paths["main"])
    (found,) = shelf.reload()
    assert "not a file that can be read again" in found.problem


def test_what_was_refused_for_a_passing_reason_is_tried_again(paths):
    reasons = ["the keys are not there"]

    def load(path):
        if reasons and not first:
            raise InputError(reasons[0])
        return load_certificate(path)

    first = [True]
    shelf = Shelf(paths, load)
    first.clear()
    paths["main"].touch()
    assert [each.problem for each in shelf.reload()] == ["the keys are not there"]
    assert shelf.reload() == []
    reasons.clear()
    assert [each.problem for each in shelf.reload()] == [None]
    assert shelf.reload() == []


def test_a_file_that_is_broken_at_the_start_is_an_error(paths):
    paths["main"].write_text("{")
    with pytest.raises(InputError, match=r"main\.json"):
        Shelf(paths, load_certificate)


def test_everything_is_kept_in_the_retrievers_order(shelf, system):
    order, kept = shelf["top"].everything.ranked([1.0, 3.0, 2.0], any_length=True, any_system=True)
    assert (order.tolist(), kept) == ([1, 2, 0], 3)


def test_a_cap_is_lifted_too(system, tmp_path):
    capped = sc.calibrate(system, target=sc.max_drop(0.3), max_keep=5)
    assert capped.max_keep == 5
    capped.save(tmp_path / "capped.json")
    shelf = Shelf({"capped": tmp_path / "capped.json"}, load_certificate)
    assert shelf["capped"].everything.ranked(list(range(40)), any_system=True)[1] == 40


def test_a_folder_that_cannot_be_looked_into_is_a_problem_of_its_certificate_alone(paths, monkeypatch, certificates):
    shelf = Shelf(paths, load_certificate)
    exists = Path.exists

    def locked(path):
        if path.name == "main.json":
            raise PermissionError(13, "Permission denied")
        return exists(path)

    monkeypatch.setattr(Path, "exists", locked)
    paths["main"].touch()
    certificates["main"].save(paths["top"])
    changed = {each.name: each for each in shelf.reload()}
    assert "Permission denied" in changed["main"].problem
    assert changed["main"].certificate == certificates["main"]
    assert (changed["top"].problem, changed["top"].digest) == (None, certificates["main"].digest)


def test_a_name_without_a_file_is_told():
    with pytest.raises(InputError, match="'x=' names no file"):
        named(["x="])
