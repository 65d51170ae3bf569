"""Which messages of an agent its library gets."""

from typing import Any

import pytest

from kpd.sessions.wire import LONGEST_ERROR, is_response


@pytest.mark.parametrize("id", [None, "1", 1.0, True, [], {}])
def test_no_response_is_without_a_number(id: object) -> None:
    assert not is_response({"id": id, "result": {}})


def test_an_error_has_a_code_and_a_message() -> None:
    found: dict[str, Any] = {"id": 1, "error": "x" * (LONGEST_ERROR + 1)}
    assert is_response(found)
    assert found["error"] == {"code": -32603, "message": "x" * LONGEST_ERROR}
    known = {"id": 1, "error": {"code": 7, "message": "no"}}
    assert is_response(known) and known == {"id": 1, "error": {"code": 7, "message": "no"}}
    assert is_response({"id": 0, "result": None})
