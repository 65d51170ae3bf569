"""What stands between an agent and a built tool's server sees calls, and keeps no value of them."""

import json
from typing import Any

from hypothesis import given, strategies as st

from kpd.mcp.relay import MOST_PENDING, CallReport, Relay
from tests.support.sessions.json_values import JSON


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


def call(id: Any, **params: Any) -> bytes:
    return line(id=id, method="tools/call", params=params)


def passed(*messages: tuple[str, bytes]) -> list[CallReport]:
    found: list[CallReport] = []
    relay = Relay(found.append)
    for who, message in messages:
        relay.asked(message) if who == "agent" else relay.answered(message)
    relay.ended()
    return found


def told(report: CallReport) -> tuple[str, bool, dict[str, int]]:
    return report.tool, report.ok, report.arguments


def test_calls_are_matched_by_id_in_any_order_and_only_sizes_are_kept() -> None:
    one, two = call(1, name="count", arguments={"word": "secret"}), call("1", name="lint", arguments={})
    found = passed(
        ("agent", one), ("agent", two),
        ("server", line(id="1", result={"isError": True})), ("server", line(id=1, result={})),
    )  # fmt: skip
    assert [told(report) for report in found] == [("lint", False, {}), ("count", True, {"word": 8})]
    assert found[1].result == len(line(id=1, result={})) and "secret" not in str(found)


def test_an_error_and_no_answer_are_failures_and_a_listing_is_seen() -> None:
    found = passed(
        ("agent", line(id=1, method="tools/list")), ("agent", call(2, name="a")), ("agent", call(3, name="b")),
        ("server", line(method="notifications/message", params={})), ("server", line(id=1, result={"tools": []})),
        ("server", line(id=2, error={"code": 1, "message": "no"})),
    )  # fmt: skip
    assert [told(report) for report in found] == [("tools/list", True, {}), ("a", False, {}), ("b", False, {})]


def test_a_flood_of_calls_is_not_kept() -> None:
    assert len(passed(*(("agent", call(number, name="a")) for number in range(MOST_PENDING + 1)))) == MOST_PENDING


MESSAGES = JSON | st.dictionaries(
    st.sampled_from(["id", "method", "params", "result"]), JSON | st.sampled_from(["tools/call"])
)


@given(st.lists(st.tuples(st.sampled_from(["agent", "server"]), MESSAGES), max_size=6))
def test_whatever_passes_nothing_is_raised(messages: list[tuple[str, Any]]) -> None:
    passed(*((who, json.dumps(message).encode()) for who, message in messages))
    passed(*((who, b"\xff{") for who, _ in messages))
