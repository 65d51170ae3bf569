"""`kpd help VERB`, `kpd runs`, and what a file of memory looks like on a terminal."""

import json

import pytest

from kpd.cli.main import main
from kpd.model import events as e
from kpd.model.kinds import Told
from tests.support.cli.served import Served, served

__all__ = ["served"]


@pytest.mark.parametrize(
    ("words", "said"),
    [((), "optimise compute kernels"), (("run",), "usage: kpd run"), (("task", "new"), "usage: kpd task new")],
)
def test_help_says_what_the_option_says(words: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    for line in (["help", *words], [*words, "--help"]):
        with pytest.raises(SystemExit) as end:
            main(line)
        assert end.value.code == 0
    told = capsys.readouterr().out
    assert said in told.lower()
    assert told[: len(told) // 2] == told[len(told) // 2 :], "both say the same"


def test_help_on_a_verb_that_is_none_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help", "rum"]) == 64
    assert "no verb 'rum'; did you mean run?" in capsys.readouterr().err


async def test_memory_is_printed_without_the_escapes_of_its_file(served: Served) -> None:
    served.ws.memory.mkdir()
    (served.ws.memory / "scale.md").write_text("# What was tried on scale\n\n- memo: a\\_b \\* 2 \\<x\\> \x1b[2J\n")
    code, out, _ = await served.kpd("memory", "scale")
    assert (code, out) == (0, "# What was tried on scale\n\n- memo: a_b * 2 <x> ␛[2J\n")


async def test_nothing_is_pruned_unasked(served: Served) -> None:
    served.queue("r1")
    served.queue("r2")
    assert (await served.kpd("runs", "prune", "--yes"))[2] == "no run has ended yet: there is nothing to prune\n"
    served.journal.emit(e.RunEnded("r1", "improved", Told("done")))
    code, _, err = await served.kpd("runs", "prune", "--keep-best")
    assert (code, served.commands) == (64, [])
    assert "nobody can be asked; --yes prunes without a question" in err
    assert (await served.kpd("runs", "--keep-best"))[0] == 64
    assert (await served.kpd("runs", "prune", "r3", "--yes"))[0] == 64
    await served.kpd("runs", "prune", "--keep-best", "--yes", "--json")
    assert served.commands == [("prune", {"run": "r1", "keep_best": True})], "runs that go on are left alone"


async def test_runs_are_listed_with_the_disk_that_they_take(served: Served) -> None:
    assert (await served.kpd("runs"))[2] == "no run yet; kpd run TASK queues one\n"
    served.queue("r1")
    served.queue("r2")
    folder = served.ws.iteration_folder("scale", "r1", 0)
    folder.mkdir(parents=True)
    (folder / "samples.json").write_bytes(b"7" * (3 << 20))
    (folder / "link").symlink_to("/")
    code, out, err = await served.kpd("runs")
    assert code == 0
    assert out.splitlines()[1].split()[:4] == ["r1", "scale", "0", "3.0"], "nothing of it is pruned"
    assert out.splitlines()[2].split()[:4] == ["r2", "scale", "0", "0.0"]
    assert err == f"3.0 MiB in {served.ws.runs}\n"
    found = json.loads((await served.kpd("runs", "--json"))[1])
    assert [one["run"] for one in found] == ["r1", "r2"] and found[0]["bytes"] >= 3 << 20
