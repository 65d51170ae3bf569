"""A reply may add and remove files where the task allows it, and nowhere else."""

from dataclasses import replace
from pathlib import Path

import pytest

from kpd.agents.agent import BadReply
from kpd.agents.prompting import read_reply
from kpd.agents.reply import parse
from kpd.workspace.task import Task
from tests.support.model.samples import task_of

KERNEL = b"int kernel;\n"
INCUMBENT = {"kernel.c": KERNEL, "src/old.h": b"int old;\n"}


@pytest.fixture
def task(tmp_path: Path) -> Task:
    (tmp_path / "harness.c").write_text("int harness;\n")
    return replace(task_of(tmp_path, {}, tuple(INCUMBENT)), areas=("src/",), kept=("kernel.c",))


def block(path: str, text: str) -> str:
    return f"```c {path}\n{text}\n```\n"


def test_a_new_file_and_a_removed_one(task: Task) -> None:
    reply = read_reply(f"MEMO: two\nREMOVE: `src/old.h`\n{block('src/new/tile.h', 'int tile;')}", task, INCUMBENT)
    assert (reply.files, reply.removed) == ({"src/new/tile.h": b"int tile;\n"}, ("src/old.h",))
    assert read_reply("REMOVE: src/old.h\n", task, INCUMBENT).removed == ("src/old.h",)
    assert read_reply(f"REMOVE: none\n{block('kernel.c', 'int better;')}", task, INCUMBENT).removed == ()


def test_a_repair_may_say_again_what_its_candidate_lacks_already(task: Task) -> None:
    failed = {"kernel.c": b"int broken\n"}
    text = f"REMOVE: src/old.h\n{block('kernel.c', 'int mended;')}"
    assert parse(text, task, INCUMBENT, failed).files == {"kernel.c": b"int mended;\n"}
    with pytest.raises(BadReply, match="there is no such file"):
        parse(text.replace("old.h", "older.h"), task, INCUMBENT, failed)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (block("new.h", "int x;"), "'new.h' .* is not an editable file; editable are kernel.c, src/"),
        (block("src/kеrnel.h", "int x;"), "is not an editable file"),
        (block("src/../harness.c", "int x;"), "is not an editable file"),
        ("REMOVE: kernel.c\n", "kernel.c may not be removed; editable are kernel.c, src/"),
        ("REMOVE: harness.c\n", "harness.c cannot be removed: there is no such file"),
        (f"REMOVE: src/old.h\n{block('src/old.h', 'int x;')}", "src/old.h is both given and removed"),
    ],
)
def test_refused_replies(task: Task, text: str, why: str) -> None:
    with pytest.raises(BadReply, match=why):
        read_reply(f"MEMO: it\n{text}", task, INCUMBENT)


def test_a_repair_goes_on_from_the_tree_that_failed(task: Task) -> None:
    failed = {"kernel.c": KERNEL, "src/new.h": b"int new\n"}
    reply = read_reply(f"MEMO: it\n{block('src/new.h', 'int new;')}", task, INCUMBENT, failed)
    assert (reply.files, reply.removed) == ({"src/new.h": b"int new;\n"}, ())


def test_a_task_without_such_places_knows_no_removal(task: Task) -> None:
    plain = replace(task, areas=())
    assert read_reply(f"REMOVE: src/old.h\n{block('kernel.c', 'int better;')}", plain, INCUMBENT).removed == ()
