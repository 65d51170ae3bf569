"""A tool that holds the value of one of the agent's keys, however it is spelled, is no tool."""

from base64 import b64encode, encodebytes, urlsafe_b64encode

import pytest
from hypothesis import given, strategies as st

from kpd.sessions.cleaning import TextCleaner
from kpd.sessions.smith import refuse_keys
from kpd.tools.files import BadTool
from kpd.tools.manifest import read_manifest
from tests.support.tools.built import SKILL, as_bytes

CLEANER = TextCleaner.of({"A_KEY": "hunter22"})


@pytest.mark.parametrize(
    ("files", "where"),
    [
        ({"SKILL.md": "Say hunter22\nto all"}, "SKILL.md"),
        ({"data/hunter22.txt": "x"}, r"data/\(A_KEY\).txt"),
        ({"server.py": f"KEY = b64decode('{b64encode(b'the key: hunter22.').decode()}')"}, "server.py"),
        ({"server.py": f"KEY = bytes.fromhex('{b'hunter22'.hex().upper()}')"}, "server.py"),
        ({"tool.toml": 'name = "notes"\nsummary = "\\u0068unter22"'}, "tool.toml"),
    ],
)
def test_it_is_refused_without_the_value(files: dict[str, str], where: str) -> None:
    found = as_bytes({**SKILL, **files})
    with pytest.raises(BadTool, match=f"{where} holds the value of A_KEY") as caught:
        refuse_keys(CLEANER, found, read_manifest(found))
    assert "hunter22" not in str(caught.value)


def test_other_tools_are_fine() -> None:
    refuse_keys(CLEANER, as_bytes(SKILL), read_manifest(as_bytes(SKILL)))


@given(st.binary(max_size=80), st.text(min_size=6, max_size=80), st.binary(max_size=80))
def test_a_value_in_the_midst_of_base64_is_found(before: bytes, value: str, after: bytes) -> None:
    cleaner, data = TextCleaner.of({"A_KEY": value}), before + value.encode() + after
    for encode in (b64encode, urlsafe_b64encode, encodebytes):
        assert cleaner.holds(f"KEY = '{encode(data).decode()}'") == "A_KEY"
