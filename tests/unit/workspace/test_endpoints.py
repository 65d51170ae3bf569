"""Addresses as people and agents write them."""

import pytest
from hypothesis import given, strategies as st

from kpd.workspace.endpoints import Endpoint, endpoint, is_inside


@pytest.mark.parametrize(
    ("text", "found", "here"),
    [
        ("API.example.com.", Endpoint("api.example.com", 443), False),
        ("example:8443", Endpoint("example", 8443), False),
        ("http://example/v1", Endpoint("example", 80), False),
        ("http://127.0.0.1:8000/v1", Endpoint("127.0.0.1", 8000), True),
        ("localhost:8000", Endpoint("localhost", 8000), True),
        ("[::1]:8000", Endpoint("::1", 8000), True),
        ("10.0.0.5:8000", Endpoint("10.0.0.5", 8000), False),
    ],
)
def test_a_name_with_a_port_or_a_url(text: str, found: Endpoint, here: bool) -> None:
    assert endpoint(text) == found
    assert found.here == here
    assert endpoint(str(found)) == found


@pytest.mark.parametrize(
    "text", ["", ":80", "a b", "a:port", "a:65536", "ftp://a", "me@a", "[zz]:1", "a/../b:1", "é.com", "-a", "*.com"]
)
def test_what_names_no_host_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        endpoint(text)


@given(st.text(max_size=40))
def test_whatever_is_written_is_an_address_that_reads_the_same_or_an_error(text: str) -> None:
    try:
        found = endpoint(text)
    except ValueError:
        return
    assert endpoint(str(found)) == found


@pytest.mark.parametrize(
    "ip", ["127.0.0.1", "127.9.9.9", "::1", "0.0.0.0", "::", "169.254.169.254", "::ffff:127.0.0.1"]
)
def test_ips_of_this_machine_and_its_link_are_inside(ip: str) -> None:
    assert is_inside(ip)
    assert not is_inside("10.0.0.5")
