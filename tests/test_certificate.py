"""The certificate as a record: it survives a file, and shows when a file was changed."""

import json
from dataclasses import replace
from importlib.resources import files

import jsonschema
import numpy as np
import pytest

from surecut import InputError, agreement, at_least, calibrate, load_certificate, max_drop, simulate
from surecut.certificate import STATUSES, parse_certificate, write_atomically

DATA = simulate("dense-electra", queries=200, depth=20, seed=5, ties=True)
CERTIFICATE = calibrate(DATA, target=max_drop(0.3))


def made_in_every_way():
    """One certificate of each status."""
    return (
        CERTIFICATE,
        calibrate(DATA, target=at_least(0.6), if_unreachable="relax-target"),
        calibrate(DATA, target=at_least(0.44), if_unreachable="relax-confidence"),
        calibrate(DATA, target=max_drop(0.3), test="clt"),
        calibrate(DATA, target=max_drop(0.001)),
        calibrate(DATA, target=agreement(0.6, 5), max_keep=15, rule="rank"),
        calibrate(DATA, target=at_least(0.3), procedure="paper"),
    )


@pytest.mark.parametrize("threshold", [-1.25, np.inf, -np.inf, 0.1 + 0.2, -9.313225746154785e-10])
def test_a_saved_certificate_is_loaded_as_it_was(tmp_path, threshold):
    certificate = replace(CERTIFICATE, threshold=threshold)
    certificate.save(tmp_path / "cert.json")
    loaded = load_certificate(tmp_path / "cert.json")
    assert loaded == certificate
    assert loaded.threshold == threshold
    assert loaded.digest == certificate.digest
    assert loaded.to_json() == certificate.to_json()
    scores = np.sort(DATA.retriever[:20])[::-1]
    assert loaded.keep(scores) == certificate.keep(scores)
    assert [path.name for path in tmp_path.iterdir()] == ["cert.json"]


def test_infinite_thresholds_are_plain_json():
    def strict(text):
        return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))

    assert strict(replace(CERTIFICATE, threshold=-np.inf).to_json())["threshold"] is None
    assert strict(replace(CERTIFICATE, threshold=np.inf).to_json())["threshold"] == "inf"


def leaves(value, path=()):
    """Every scalar in nested JSON, with the way to it."""
    if isinstance(value, dict):
        for key, each in value.items():
            yield from leaves(each, (*path, key))
    elif isinstance(value, list):
        for place, each in enumerate(value):
            yield from leaves(each, (*path, place))
    else:
        yield path, value


def edited(value):
    if isinstance(value, bool) or value is None:
        return "edited"
    if isinstance(value, str):
        return value + " "
    return value + 1


def test_any_edited_field_is_detected():
    record = json.loads(CERTIFICATE.to_json())
    ways = list(leaves(record))
    assert len(ways) > 30
    for path, value in ways:
        changed = json.loads(CERTIFICATE.to_json())
        holder = changed
        for step in path[:-1]:
            holder = holder[step]
        holder[path[-1]] = edited(value)
        with pytest.raises(InputError, match="schema" if path == ("schema",) else "digest"):
            parse_certificate(json.dumps(changed))


@pytest.mark.parametrize("change", ["added", "removed"])
def test_an_added_or_removed_field_is_detected(change):
    record = json.loads(CERTIFICATE.to_json())
    if change == "added":
        record["note"] = "fine"
    else:
        del record["tail"]
    with pytest.raises(InputError, match="digest"):
        parse_certificate(json.dumps(record))


def test_reformatting_changes_nothing():
    record = json.loads(CERTIFICATE.to_json())
    shuffled = dict(sorted(record.items(), reverse=True))
    assert parse_certificate(json.dumps(shuffled, indent=None)) == CERTIFICATE


def test_a_newer_schema_is_refused_with_the_cure():
    with pytest.raises(InputError, match="upgrade surecut"):
        parse_certificate(replace(CERTIFICATE, schema=2).to_json())


def test_a_truncated_certificate_is_refused_wherever_it_was_cut(tmp_path):
    text = CERTIFICATE.to_json()
    for length in range(0, len(text) - 2, 97):
        (tmp_path / "cert.json").write_text(text[:length], encoding="utf-8")
        with pytest.raises(InputError, match=r"cert\.json: not a whole JSON"):
            load_certificate(tmp_path / "cert.json")


@pytest.mark.parametrize("text", ["[]", "3", "{}", '{"schema": 1}', '{"schema": "1", "digest": ""}'])
def test_json_that_is_no_certificate_is_refused(text):
    with pytest.raises(InputError):
        parse_certificate(text)


def test_files_that_cannot_be_read_or_written_are_named(tmp_path):
    with pytest.raises(InputError, match=r"absent\.json"):
        load_certificate(tmp_path / "absent.json")
    (tmp_path / "binary.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="not a text file"):
        load_certificate(tmp_path / "binary.json")
    with pytest.raises(InputError, match="cannot be written"):
        CERTIFICATE.save(tmp_path / "no" / "folder" / "cert.json")


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path):
    (tmp_path / "cert.json").mkdir()
    with pytest.raises(InputError):
        write_atomically(tmp_path / "cert.json", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["cert.json"]


def test_statements_name_the_confidence_and_the_claim():
    certified, relaxed, reached, _, abstained, *_ = made_in_every_way()
    for certificate in (certified, relaxed, reached, abstained):
        assert "90% confidence" in certificate.statement
        assert "RR@10" in certificate.statement
    assert "30%" in certified.statement
    assert f"{relaxed.relaxed['value']:g}" in relaxed.statement
    assert "evidence factor" in reached.statement
    assert "Nothing is certified" in abstained.statement


def test_speedup_is_candidates_over_survivors():
    assert CERTIFICATE.speedup == pytest.approx(20 / CERTIFICATE.mean_kept)
    assert CERTIFICATE.certified
    assert not replace(CERTIFICATE, status="uncertified").certified


def test_every_status_survives_a_file_and_holds_no_place_or_time():
    certificates = made_in_every_way()
    assert {certificate.status for certificate in certificates} == set(STATUSES)
    for certificate in certificates:
        text = certificate.to_json()
        assert parse_certificate(text) == certificate
        assert not {"time", "date", "host", "path"} & set(json.loads(text))


def test_certificates_follow_their_json_schema():
    schema = files("surecut") / "certificate.schema.json"
    described = json.loads(schema.read_text(encoding="utf-8"))
    wrong = jsonschema.validators.validator_for(described)(described).iter_errors
    assert [each for certificate in made_in_every_way() for each in wrong(json.loads(certificate.to_json()))] == []
