"""Everything the OpenAPI document allows, and much that it does not, is answered as it says: never by a 500."""

import msgspec
import pytest
import schemathesis
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.specs.openapi.checks import positive_data_acceptance, unsupported_method

from surecut.certificate import load_certificate
from surecut.monitoring.store import Store
from surecut.serve.app import _ROUTES, make_app
from surecut.serve.limits import Limits
from surecut.serve.messages import MEDIA_TYPES, MSGPACK
from surecut.serve.service import Service
from surecut.serve.shelf import Shelf

EXAMPLES = 60
NAMES = ("main", "top", "nothing")


@schemathesis.serializer(MSGPACK)
def as_messagepack(_context, value):
    return msgspec.msgpack.encode(_within_64_bits(value))


def _within_64_bits(value):
    """MessagePack has no larger whole numbers; a float of that size is as wrong."""
    if isinstance(value, dict):
        return {name: _within_64_bits(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_within_64_bits(each) for each in value]
    return float(value) if isinstance(value, int) and not -(2**63) <= value < 2**64 else value


@pytest.fixture(scope="module")
def described(certificates, tmp_path_factory):
    """The OpenAPI document of a service that has all but a reranker."""
    folder = tmp_path_factory.mktemp("served")
    for name in NAMES:
        certificates[name].save(folder / f"{name}.json")
    shelf = Shelf({name: folder / f"{name}.json" for name in NAMES}, load_certificate, any_length=True, any_system=True)
    app = make_app(Service(shelf, Limits(body=100_000), store=Store(folder / "monitor.db")))
    return schemathesis.openapi.from_asgi("/openapi.json", app)


POSTS = [path for method, path, *_ in _ROUTES if method == "POST"]


def played(operation, mode, checks_left_out):
    """Requests of one operation; whatever comes back is held against the document."""

    @settings(max_examples=EXAMPLES, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(case=operation.as_strategy(generation_mode=mode))
    def answered(case):
        if "name" in case.path_parameters:
            case.path_parameters["name"] = NAMES[len(str(case.body)) % len(NAMES)]  # one that is there
        case.call_and_validate(excluded_checks=checks_left_out)

    answered()


@pytest.mark.parametrize(("method", "path"), [(method, path) for method, path, *_ in _ROUTES])
def test_what_the_document_allows_is_answered_as_it_says(described, method, path):
    """Some of it is refused all the same (ids and scores of different numbers), with a status it names."""
    played(described[path][method], GenerationMode.POSITIVE, [unsupported_method, positive_data_acceptance])


@pytest.mark.parametrize("path", POSTS)
def test_what_it_does_not_allow_is_refused_as_it_says(described, path):
    played(described[path]["POST"], GenerationMode.NEGATIVE, [unsupported_method])


@pytest.mark.parametrize("media_type", MEDIA_TYPES)
@pytest.mark.parametrize("path", POSTS)
def test_any_bytes_are_answered(described, path, media_type):
    """Not even a request that follows a schema."""
    client = TestClient(described.app)

    @settings(max_examples=EXAMPLES, deadline=None, database=None)
    @given(
        st.binary(max_size=200) | st.recursive(st.just([]), lambda inner: st.lists(inner)).map(msgspec.msgpack.encode)
    )
    def answered(body):
        answer = client.post(path.format(name="main"), content=body, headers={"content-type": media_type})
        assert answer.status_code in (200, 400, 409, 422)
        assert answer.headers["content-type"] in MEDIA_TYPES

    answered()
