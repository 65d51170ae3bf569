"""Strict TOML: what is refused, on which line, and with which remedy."""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import pytest
from hypothesis import example, given, strategies as st

from kpd.operations.checking import shape
from kpd.operations.runs import QueueRun
from kpd.workspace.strict import MOST_BYTES, ConfigError, Count, Document, Filled, NotNegative, misfit, read_toml


@dataclass(frozen=True)
class Inner:
    mode: Literal["fast", "slow"] = "fast"
    count: Count = 3
    share: NotNegative = 0.5
    on: bool = False
    limit: Count | None = None
    effort: Literal["", "more"] = ""


@dataclass(frozen=True)
class Outer:
    name: str
    words: Filled = ("a",)
    inner: Inner = field(default_factory=Inner)
    many: dict[str, Inner] = field(default_factory=dict)


def refused(folder: Path, text: str | bytes) -> ConfigError:
    path = folder / "some.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError) as caught:
        read_toml(path, Outer)
    assert str(caught.value).startswith(str(path))
    return caught.value


def test_defaults_and_values(tmp_path: Path) -> None:
    path = tmp_path / "some.toml"
    path.write_text('name = "x"\n[inner]\nshare = 1\n[many.one]\nmode = "slow"\nlimit = 4\n')
    expected = Outer("x", inner=Inner(share=1.0), many={"one": Inner(mode="slow", limit=4)})
    assert read_toml(path, Outer) == expected


@pytest.mark.parametrize(
    ("text", "line", "message", "remedy"),
    [
        ('name = "x"\n\n[inner]\ncuont = 1\n', 4, "unknown key 'cuont' in [inner]", "did you mean 'count'?"),
        ('name = "x"\nzzz = 1\n', 2, "unknown key 'zzz'", "known are name, words, inner, many"),
        ('name = "x"\n[iner]\n', 2, "unknown table 'iner'", "did you mean 'inner'?"),
        ('name = "x"\n[inner]\ncount = true\n', 3, "must be an integer, at least 1 and at most 1000000, not true", ""),
        ('name = "x"\n[inner]\nshare = false\n', 3, "must be a number, at least 0, not false", ""),
        ('name = "x"\n[inner]\nshare = nan\n', 3, "must be finite", ""),
        ('name = "x"\n[inner]\nshare = inf\n', 3, "must be finite", ""),
        ('name = "x"\n[inner]\nmode = "fats"\n', 3, 'must be "fast" or "slow", not "fats"', "did you mean 'fast'?"),
        ('name = "x"\n[inner]\nlimit = 1.5\n', 3, "must be an integer, at least 1 and at most 1000000, not 1.5", ""),
        ('name = "x"\nwords = []\n', 2, "must be a list in which each is a string, not empty, not []", ""),
        ('name = "x"\nwords = [\n  "a",\n  1,\n]\n', 2, 'a string, not empty, not ["a", 1]', ""),
        ('name = "x"\ninner = 3\n', 2, "'inner' must be a table, not 3", "write [inner]"),
        ('name = "x"\n[many.one]\n[many.two]\ncount = 0\n', 4, "'count' in [many.two] must be", ""),
        ('name = "x"\nmany = { one = { count = 0 } }\n', 2, "'count' in [many.one] must be", ""),
        ("# only\n[inner]\n", 0, "'name' is missing", "give a string"),
        ('name = "x"\nname = "y"\n', 2, "not TOML: cannot overwrite a value", "a key may appear only once"),
        ('name = "x"\n[many.one]\ncount = 1\n[many.one]\n', 4, "not TOML: [many.one] appears twice", "merge the two"),
        ("name = x\n", 1, "not TOML", "strings need quotes"),
        (b'name = "x"\n# \xff\n', 2, "not UTF-8", "save the file as UTF-8"),
        (f"name = {'[' * 5000}", 0, "nested too deeply", ""),
        ("#" * (MOST_BYTES + 1), 0, "larger than 64 KiB", ""),
        (f'name = "x"\n\n[inner]\ncount = {"9" * 5000}\n', 4, "a number with too many digits", "a smaller number"),
        (f'name = "x"\n[inner]\ncount = 0x{"f" * 5000}\n', 3, "'count' in [inner] has a number of more than 64", ""),
        ('name = "x"\nwords = ["a", 9223372036854775808]\n', 2, "'words' has a number of more than 64 bits", ""),
        ('name = "x"\n[inner]\neffort = "mroe"\n', 3, 'must be "" or "more", not "mroe"', "did you mean 'more'?"),
        ('name = "x"\n[inner]\neffort = "zzz"\n', 3, 'must be "" or "more", not "zzz"', 'known are "", more'),
    ],
)
def test_refusals_name_line_and_remedy(tmp_path: Path, text: str | bytes, line: int, message: str, remedy: str) -> None:
    error = refused(tmp_path, text)
    assert (error.line, remedy in error.remedy) == (line, True)
    assert message in error.message
    assert (f"some.toml:{line}: " in str(error)) == bool(line)


def test_lines_hold_past_strings_and_arrays_that_look_like_keys(tmp_path: Path) -> None:
    text = 'name = """\n[inner]\ncount = 1\n"""\nwords = [\n  "count = 2", # [inner]\n]\n\n'
    text += "[inner]\n# count = 3\ncount = 0\n"
    assert refused(tmp_path, text).line == 11
    document = Document.read(tmp_path / "some.toml")
    assert (document.line("words"), document.line("inner"), document.line("inner", "absent")) == (5, 9, 9)
    assert document.line("absent") == 0


fragments = st.sampled_from(
    ["[inner]", "[many.a]", "[[many]]", "[", "name", "count", "share", "=", ".", '"', "'", '"""', "\n", "\n", " ", "#",
     "1", "-0", "1.5", "nan", "true", "[]", "{}", "{", "}", ",", '"x"', "1979-05-27", "\r", "\x00", "é", "\\"]
)  # fmt: skip


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("strict") / "some.toml"


@given(st.one_of(st.lists(fragments, max_size=25).map("".join).map(str.encode), st.binary(max_size=60)))
@example(b'name = "x"\n[inner]\ncount = 0')
def test_any_file_is_read_or_refused_on_a_line_that_it_has(scratch: Path, raw: bytes) -> None:
    scratch.write_bytes(raw)
    try:
        assert isinstance(read_toml(scratch, Outer), Outer)
    except ConfigError as err:
        assert 0 <= err.line <= raw.count(b"\n") + 1


def test_a_folder_a_pipe_and_a_missing_file(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for name, message in (("absent", "no such file"), (".", "not a regular file"), ("pipe", "not a regular file")):
        with pytest.raises(ConfigError, match=message):
            read_toml(tmp_path / name, Outer)


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"task": "scale", "usd": -1.0}, "usd must be a number, above 0, not -1.0"),
        (
            {"task": "scale", "iterations": 10**30},
            "iterations must be an integer, at least 1 and at most 1000000, not 1",
        ),
        ({"task": "scale", "min_gain_pct": 100}, "min_gain_pct must be a number, at least 0 and below 100, not 100"),
        ({"task": ""}, "task must be a string, not empty, not an empty string"),
        ({"task": "scale", "approve": "yes"}, 'approve must be true or false, not "yes"'),
        ({"agent": "sweep"}, "task is missing"),
        ({"task": None}, "task must be a string, not empty, not nothing"),
        ({"task": "scale", "iterations": 3, "usd": 0.5, "agent": None}, ""),
    ],
)
def test_arguments_that_do_not_fit_are_told_as_settings_are(given: dict[str, Any], why: str) -> None:
    assert misfit(given, shape(QueueRun))[: len(why) or None] == why
