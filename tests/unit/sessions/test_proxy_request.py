"""Requests that clients send to a proxy, and what is sent on."""

import pytest
from hypothesis import example, given, strategies as st

from kpd.sessions.proxy_request import BadRequest, ProxyRequest, read_request
from kpd.workspace.endpoints import Endpoint

END = b"\r\n\r\n"


def test_a_client_that_speaks_for_itself_is_only_connected() -> None:
    found = read_request(b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: other.com\r\nProxy-Authorization: x" + END)
    assert found == ProxyRequest(Endpoint("api.example.com", 443))


def test_a_request_with_a_url_becomes_one_to_its_host_and_the_last_of_its_connection() -> None:
    fields = b"Host: other.com\r\nAccept: */*\r\nPROXY-Connection : keep-alive\r\nConnection: keep-alive"
    found = read_request(b"POST http://Example.com:8000/v1/x?y=1#z HTTP/1.1\r\n" + fields + END)
    assert found.to == Endpoint("example.com", 8000)
    assert found.head == (
        b"POST /v1/x?y=1 HTTP/1.1\r\nHost: example.com:8000\r\nConnection: close\r\nAccept: */*\r\n\r\n"
    )


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"GET / HTTP/1.1",
        b"CONNECT http://a:80 HTTP/1.1",
        b"CONNECT a HTTP/1.1",
        b"CONNECT a:0x1 HTTP/1.1",
        b"CONNECT a:80:90 HTTP/1.1",
        b"CONNECT \xff:80 HTTP/1.1",
        b"CONNECT a:80  HTTP/1.1",
        b"GET https://a/ HTTP/1.1",
        b"GET http:///x HTTP/1.1",
        b"GET http://a/ SMTP",
    ],
)
def test_what_is_for_no_proxy_is_refused(line: bytes) -> None:
    with pytest.raises(BadRequest):
        read_request(line + END)


@example(b"", b"GET http://a/ HTTP/1.1\r\n")
@example(b"X: y" + END + b"GET / HTTP/1.1", b"GET http://a/ HTTP/1.1\r\n")
@given(st.binary(max_size=60), st.sampled_from([b"", b"CONNECT ", b"GET http://a", b"GET http://a/ HTTP/1.1\r\n"]))
def test_nothing_else_is_raised_and_what_is_sent_on_is_one_request(noise: bytes, first: bytes) -> None:
    try:
        found = read_request(first + noise + END)
    except BadRequest:
        return
    assert found.head.partition(b"\r\n")[0].count(b" ") == 2 * bool(found.head)
    assert found.head.count(END) == bool(found.head)
