"""The name that a client of TLS asks for."""

import pytest

from kpd.sessions.tls_name import BadHello, ClientHello
from tests.support.sessions.tls import UNKNOWN_NAME, hello_of

NAME = "api.example.com"


def test_a_message_is_whole_with_its_last_byte_however_it_comes() -> None:
    said, hello = hello_of(NAME), ClientHello(NAME)
    found = [hello.fits(said[at : at + 1]) for at in range(len(said))]
    assert found == [False] * (len(said) - 1) + [True]


def test_in_several_records_it_is_the_same_message() -> None:
    said = hello_of(NAME)[5:]
    records = [said[at : at + 60] for at in range(0, len(said), 60)]
    told = b"".join(b"\x16\x03\x01" + len(each).to_bytes(2, "big") + each for each in records)
    assert ClientHello(NAME).fits(told)
    with pytest.raises(BadHello, match=r"it asks for api\.example\.com"):
        ClientHello("api.example.co").fits(told)


@pytest.mark.parametrize("asked", ["evil.example", "api.example.com.evil.example", "x.api.example.com", ""])
def test_another_name_or_none_is_refused_in_words_of_tls(asked: str) -> None:
    with pytest.raises(BadHello) as found:
        ClientHello(NAME).fits(hello_of(asked))
    assert (found.value.name, found.value.answer) == (asked, UNKNOWN_NAME)


def test_case_makes_no_difference() -> None:
    assert ClientHello(NAME).fits(hello_of("API.Example.com"))


@pytest.mark.parametrize(
    "said",
    [b"GET / HTTP/1.1\r\n\r\n", b"SSH-2.0-x\r\n", bytes(50), b"\x16\x03\x01\xff\xff" + bytes(70_000)],
)
def test_what_is_no_tls_is_refused(said: bytes) -> None:
    with pytest.raises(BadHello, match="no message of TLS") as found:
        ClientHello(NAME).fits(said)
    assert found.value.name == ""
