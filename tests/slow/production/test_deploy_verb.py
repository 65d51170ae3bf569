"""kpd project deploy, history, rollback: the verbs on a log with a real run's verdicts, without a daemon."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.workspace.run_files import IterationFolder
from tests.support.production.recorded import with_program
from tests.support.production.sleepers import FAST, PATH, content


def test_a_run_s_winner_is_deployed_told_and_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    ws, root = with_program(tmp_path, fixer="model")
    before = content(root)

    def kpd(*args: str) -> tuple[int, str, str]:
        code = main(["-w", str(ws.root), "project", *args])
        said = capsys.readouterr()
        return code, said.out, said.err

    code, _, said = kpd("deploy", "p", "r1")
    assert (code, "--yes" in said) == (64, True)
    code, _, said = kpd("deploy", "p", "r1", "--iteration", "3", "--yes")
    assert (code, "has not accepted it" in said) == (2, True)
    changed = IterationFolder(ws.iteration_folder("transpose_cuda", "r1", 13))
    changed.write_candidate({"kernel.cu": b"int work(int x) { return 3 * x; }\n"})
    code, _, said = kpd("deploy", "p", "r1", "--yes")
    assert (code, said.strip()) == (
        1,
        "kpd: iteration 13: kernel.cu is not the file that r1 has accepted; "
        "put it back, or let the run measure it: kpd edit",
    )
    changed.write_candidate({"kernel.cu": FAST.encode()})
    code, told, _ = kpd("deploy", "p", "r1", "--iteration", "2", "--yes", "--fixer", "none")
    assert (code, "work: the run's files do not define the project's kernel" in told) == (1, True)
    assert content(root) == before
    assert kpd("watch", "p")[0] == 0
    code, _, said = kpd("deploy", "p", "r1", "--yes")
    assert (code, "there is no API key" in said) == (3, True)  # and nothing was begun: the next one has number 2
    code, told, said = kpd("deploy", "p", "r1", "--yes", "--fixer", "none")
    assert (code, told.startswith("DEPLOYED p #2: r1, iteration 13\n")) == (0, True)
    assert "+int work(int x) { return 2 * x; }" in said
    assert content(root)[0] == FAST
    code, told, _ = kpd("watch", "p")
    assert (code, told) == (0, "p is what kpd's deployment has left; its time is watched from now on\n")
    (last,) = (tmp_path / "home").glob(".local/state/kpd/places/*/change.json")
    committed = last.read_text()
    last.write_text(json.dumps({**json.loads(committed), "state": "open"}))
    code, _, said = kpd("watch", "p")
    assert (code, "kpd changes p: deployment 2: iteration 13 of r1; watch it when" in said) == (3, True)
    last.write_text(committed)
    code, told, _ = kpd("history", "p", "--json")
    assert [(one["number"], one["state"], one["cause"]) for one in json.loads(told)["deployments"]] == [
        (1, "refused", "forbidden"), (2, "deployed", None),
    ]  # fmt: skip
    (root / PATH).write_text("somebody's\n")
    code, told, _ = kpd("watch", "p")
    assert (code, told.splitlines()[0]) == (1, f"! {PATH} was changed since")
    code, told, _ = kpd("rollback", "p")
    assert (code, f"{PATH} was changed since, and is left as it is" in told) == (1, True)
    assert (root / PATH).read_text() == "somebody's\n"
    later = {**json.loads(last.read_text()), "state": "committed", "entries": []}
    with last.with_name("history.jsonl").open("a") as past:
        past.writelines(json.dumps({**later, "id": f"later {at}"}) + "\n" for at in range(9))
    (root / PATH).write_text(FAST)
    assert kpd("rollback", "p", "1")[0] == 64
    assert kpd("rollback", "p", "2")[0] == 0
    assert content(root) == before
    code, told, _ = kpd("history", "p")
    assert [line.split()[3:5] for line in told.splitlines()[1:5]] == [
        ["REFUSED", "r1"], ["TAKEN", "BACK"], ["FAILED", "back"], ["TAKEN", "BACK"],
    ]  # fmt: skip
    memory = ws.memory / "transpose_cuda.md"
    said = re.findall(r"^### r1\.13 · \S+ \S+ · (.*) \d{4}-\S+ \S+\n- \1: (.*)$", memory.read_text(), re.MULTILINE)
    assert [word for word, _ in said] == ["deployed", "rolled back in production"]
    assert re.fullmatch(r"p \\#2: the program \+\S+ % .* of its wall time", said[0][1])
    assert said[1][1] == "p \\#4: somebody has taken deployment 2 back"
    memory.unlink()  # a person makes kpd forget the task
    assert kpd("history", "p")[0] == 0
    assert not memory.exists()
    assert told.splitlines()[5:] == [
        "1: work: the run's files do not define the project's kernel",
        "2: taken back by 4",
        f"3: what it left is not in place any more: {PATH}",
    ]


def test_a_key_is_given_to_nothing_that_a_deployment_starts(tmp_path: Path) -> None:
    ws, _ = with_program(tmp_path, fixer="model")
    far = '[hosts.box]\ntransport = "controlmaster"\naddress = "box"\n'
    ws.config.write_text(ws.config.read_text().replace("[hosts.local]\n", far).replace('"local"', '"box"'))
    ssh = tmp_path / "bin" / "ssh"
    ssh.parent.mkdir()
    ssh.write_text(f"#!/bin/sh\nenv > {tmp_path}/seen\nexit 255\n")
    ssh.chmod(0o755)
    command = [sys.executable, "-m", "kpd.cli.main", "-w", str(ws.root), "project", "deploy", "p", "r1", "--yes"]
    env = {**os.environ, "PATH": f"{ssh.parent}:{os.environ['PATH']}", "ANTHROPIC_API_KEY": "sk-secret"}
    assert subprocess.run(command, env=env, check=False).returncode == 3
    seen = (tmp_path / "seen").read_text()
    assert ("PATH=" in seen, "sk-secret" in seen) == (True, False)
