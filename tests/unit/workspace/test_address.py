"""What the operator may write as a host's address."""

import pytest
from hypothesis import given, strategies as st

from kpd.workspace.address import HOST, USER, Address


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("box", Address("box")),
        ("me@box", Address("box", "me")),
        ("box:2222", Address("box", port=2222)),
        ("me@box.example.com:22", Address("box.example.com", "me", 22)),
        ("me@corp@box", Address("box", "me@corp")),
        ("[fe80::1]:22", Address("fe80::1", port=22)),
        ("[::1]", Address("::1")),
        ("me@::1", Address("::1", "me")),
        ("ssh://me@box:22/", Address("box", "me", 22)),
        ("SSH://[::1]:2200", Address("::1", port=2200)),
        (" box ", Address("box")),
    ],
)
def test_addresses(text: str, address: Address) -> None:
    assert Address.parse(text) == address


@pytest.mark.parametrize(
    "text",
    ["", "@box", "me@", "-oProxyCommand=id", "me@-x", "-x@box", "box:ssh", "box:99999", "a b", "a;id", "$(id)", "[::1",
     "box:", "a|b", "a'b", "x\ny", "ssh://", "[]:22", "box/path\x00", "b\u202eox", "x" * 300],
)  # fmt: skip
def test_what_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not an address"):
        Address.parse(text)


@given(
    st.from_regex(r"[a-z][a-z0-9.-]{0,20}", fullmatch=True), st.sampled_from(["", "me", "a.b"]), st.integers(0, 65535)
)
def test_every_part_comes_back(host: str, user: str, port: int) -> None:
    text = f"{user}@{host}" if user else host
    assert Address.parse(f"{text}:{port}" if port else text) == Address(host, user, port)


@given(st.text(max_size=20))
def test_nothing_odd_gets_through(text: str) -> None:
    try:
        address = Address.parse(text)
    except ValueError:
        return
    assert HOST.fullmatch(address.host) and (not address.user or USER.fullmatch(address.user))
    assert 0 <= address.port <= 65535
