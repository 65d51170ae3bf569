"""Both ends read what the other writes, and nothing else."""

import json

import pytest
from hypothesis import given, strategies as st

from kpd import messages as m
from kpd.model.events import Event
from kpd.model.fold import fold_all
from kpd.wire import DaemonError
from tests.support.model.strategies import any_fact, logs

number = st.integers(0, 2**53)
words = st.text(max_size=8)
args = st.dictionaries(words, st.one_of(words, number, st.none(), st.lists(words, max_size=2)), max_size=3)
requests = st.one_of(
    st.builds(m.Hello, number, number, words, words, st.booleans()),
    st.builds(m.Subscribe, number, number),
    st.builds(m.Query, number, words, args),
    st.builds(m.Command, number, words, args),
)
pushes = st.one_of(
    st.builds(Event, number, st.floats(0, 1e10), any_fact),
    logs.map(fold_all),
    st.builds(m.Live, words, words, number, words),
    st.builds(m.Heartbeat, number),
    st.builds(m.Dropped, number),
)


@given(requests)
def test_requests_survive_their_line(request: m.Request) -> None:
    line = m.request_line(request)
    assert line.index(b"\n") == len(line) - 1
    assert m.request(line) == request


@given(pushes)
def test_pushes_survive_their_line(push: m.Push) -> None:
    line = m.push_line(push)
    assert line.index(b"\n") == len(line) - 1
    assert len(json.loads(line)) == 1
    assert m.received(line) == push


@given(number, args)
def test_replies_survive_their_line(id: int, result: object) -> None:
    reply = m.received(m.reply_line(id, result))
    assert isinstance(reply, m.Reply)
    assert (reply.id, reply.value()) == (id, result)


@given(st.one_of(st.none(), number), words, words)
def test_errors_are_raised_again_at_the_other_end(id: int | None, message: str, remedy: str) -> None:
    reply = m.received(m.error_line(id, DaemonError("refused", message, remedy)))
    assert isinstance(reply, m.Reply)
    assert reply.id == id
    with pytest.raises(DaemonError) as caught:
        reply.value()
    assert (caught.value.code, caught.value.message, caught.value.remedy) == ("refused", message, remedy)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_message_or_a_protocol_error(raw: bytes) -> None:
    for read in (m.request, m.received):
        try:
            read(raw)
        except DaemonError as err:
            assert err.code == "protocol"


@pytest.mark.parametrize(
    "line",
    [
        b'{"event":{"seq":1,"at":0,"kind":"moon_landed","body":{}}}\n',
        b'{"event":{"seq":1}}\n',
        b'{"beat":"now"}\n',
        b'{"snapshot":[]}\n',
        b'{"live":{"channel":"build"}}\n',
        b'{"id":1,"ok":"yes"}\n',
        b'{"id":1,"ok":false,"error":{"code":"moody","message":""}}\n',
        b"{}\n",
        b"\n",
    ],
)
def test_a_line_that_is_no_message_of_the_daemon_is_refused(line: bytes) -> None:
    with pytest.raises(DaemonError, match="not a message"):
        m.received(line)
