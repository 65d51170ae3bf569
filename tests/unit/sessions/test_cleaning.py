"""What an agent sends can be kept, and shows none of its keys."""

import json

from hypothesis import given, strategies as st

from kpd.model.codec import encode
from kpd.sessions.cleaning import SHORTEST, CleanedStream, TextCleaner

KEYS = {"A_KEY": "secret", "LONG_KEY": 'secret-"more"', "SHORT": "x" * (SHORTEST - 1), "NONE": ""}


def test_values_of_keys_are_replaced_by_their_names_the_longest_first() -> None:
    cleaner = TextCleaner.of(KEYS)
    assert cleaner.text('a secret, a secret-"more" xxxxx') == "a (A_KEY), a (LONG_KEY) xxxxx"
    line = json.dumps({"text": ['a secret-"more"', {"deep": "secret"}]}).replace("secret", "se\\u0063ret")
    assert "secret" not in line
    assert cleaner.message(line.encode()) == {"text": ["a (LONG_KEY)", {"deep": "(A_KEY)"}]}


def test_halves_of_characters_are_replaced() -> None:
    assert TextCleaner().text("a\ud83db") == "a?b"
    assert TextCleaner().message(b'{"\\ud83d": "\\ud83d\\ude00 \\ude00"}') == {"?": "\U0001f600 ?"}


@given(st.text(st.characters(exclude_categories=())))
def test_whatever_text_comes_can_be_kept(text: str) -> None:
    encode(TextCleaner().text(text))
    encode(TextCleaner().message(json.dumps([text]).encode()))


@given(st.lists(st.sampled_from(("s", "se", "cret", "secret", '-"more"', "x", "ret", 'secret-"mor', "crets"))))
def test_a_stream_in_pieces_shows_what_the_whole_text_would(pieces: list[str]) -> None:
    stream, whole = CleanedStream(TextCleaner.of(KEYS)), "".join(pieces)
    shown = [stream.feed(piece) for piece in pieces]
    assert "".join(shown) + stream.rest() == TextCleaner.of(KEYS).text(whole)
    assert not any("secret" in one for one in shown)
