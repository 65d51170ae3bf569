"""No key is in a bundle; on demand no name of a person or a host, and no home path. It still verifies."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.evidence import archive
from kpd.evidence.archive import CANDIDATES, Bundle
from kpd.evidence.contents import RunSource, gather
from kpd.evidence.scrub import REDACTED, Scrub, StillNamed, placeholders, refuse_named
from kpd.evidence.verify import verify
from kpd.model import events as e
from kpd.model.budget import Budget
from kpd.model.deployments import Deployment, DeploymentCard
from kpd.model.hosts import HostCard
from kpd.model.preparation import PhaseResult, TaskOrder
from kpd.workspace.paths import Workspace
from kpd.workspace.run_files import digest
from tests.support.evidence.bundles import source, wrong

KEYS = (
    "sk-ant-api03-" + "a1B2" * 12,
    "ghp_" + "Zz09" * 9,
    "AKIA" + "ABCD1234EFGH5678",
    "xoxb-1234567890-abcdefghij",
    "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----",
)
OF_ENVIRONMENT = "correct-horse-battery"
NAMES = placeholders({"ada", "operator"}, {"babbage", "babbage.example.org", "local"}, {"/srv/ada/work": "/workspace"})
TELLING = "ada@babbage:/srv/ada/work/x and /home/grace/.ssh, ada-lovelace, grace@example.org, 10.1.2.3"


def planted(root: Path, text: str) -> RunSource:
    """A run with this text in a candidate, in a memo, in a note and in a build log."""
    kernel = f"// {text}\nvoid transpose();\n".encode()
    sha256 = digest(kernel)

    def change(fact: e.Fact) -> e.Fact:
        if isinstance(fact, e.RunQueued):
            return replace(fact, by="ada@babbage:pts/3")
        if isinstance(fact, e.Proposed) and fact.iteration == 1:
            return replace(fact, files={"kernel.cu": sha256}, memo=text)
        return replace(fact, files={"kernel.cu": sha256}) if isinstance(fact, e.Accepted) and fact.iteration else fact

    found = source(root, last=1, change=change)
    folder = found.workspace.iteration_folder("transpose_cuda", "r1", 1)
    (folder / "candidate" / "kernel.cu").write_bytes(kernel)
    (folder / "build.log").write_text(text)
    return replace(found, host=HostCard("babbage", "ssh", address="ada@babbage.example.org:22", system="Linux"))


def test_the_task_of_a_run_is_the_one_that_its_preparation_has_made() -> None:
    queued = e.RunQueued("r1", "p", "sweep", "local", Budget(), deploy="p", order=TaskOrder())
    made = e.PhaseEnded("r1", "task", PhaseResult(task="p-2"))
    events = tuple(e.Event(seq, 1.0, fact) for seq, fact in enumerate((queued, made), 1))
    assert RunSource(Workspace(Path("/ws")), "r1", events, None, None).task == "p-2"


def whole(bundle: Bundle) -> str:
    return "\n".join([*bundle.files, *(data.decode() for data in bundle.files.values()), bundle.signed.decode()])


def test_no_key_is_in_a_bundle_and_it_verifies(tmp_path: Path) -> None:
    text = f"use {' and '.join(KEYS)} with {OF_ENVIRONMENT}"
    made = gather(planted(tmp_path, text), Scrub((OF_ENVIRONMENT,)))
    for key in (*KEYS, OF_ENVIRONMENT):
        assert key not in whole(made) and json.dumps(key)[1:-1] not in whole(made)
    assert made.manifest.redacted == 3 * (len(KEYS) + 1) and REDACTED in whole(made)
    assert wrong(made) == []


def test_names_are_placeholders_everywhere_and_it_verifies(tmp_path: Path) -> None:
    made = gather(planted(tmp_path, TELLING), Scrub((), NAMES))
    told = re.sub(r"\b[0-9a-f]{64}\b", "", whole(made))  # hashes are told, and one can spell a name
    for word in ("ada", "babbage", "grace", "example.org", "/srv", "10.1.2.3"):
        assert word not in told, word
    assert "user1@host1:/workspace/x and /home/user" in whole(made) and "user1-lovelace" in whole(made)
    assert made.manifest.scrubbed and wrong(made) == []
    assert all(digest(data) == name.removeprefix(CANDIDATES) for name, data in made.files.items() if CANDIDATES in name)


def test_who_deployed_and_who_approved_are_people_and_a_deployment_after_the_run_verifies(tmp_path: Path) -> None:
    found = planted(tmp_path, "")
    one = Deployment(1, "r1", 1, 2e9, "deployed", by="grace@babbage", answered_by="mary@babbage:pts/1")
    last = found.events[-1]
    seen = e.Event(last.seq + 1, last.at, e.DeploymentSeen("r1", DeploymentCard("prover", one)))
    found = replace(found, events=(*found.events, seen))
    assert {"grace", "mary"} <= found.people
    assert wrong(gather(found, Scrub())) == []


def test_unscrubbed_it_says_who_and_where(tmp_path: Path) -> None:
    made = gather(planted(tmp_path, TELLING), Scrub())
    assert "ada@babbage:pts/3" in whole(made) and not made.manifest.scrubbed
    assert all(line.holds for line in verify(made))


def test_the_same_run_is_scrubbed_the_same_way(tmp_path: Path) -> None:
    one, other = (gather(planted(tmp_path / name, TELLING), Scrub((), NAMES)) for name in ("a", "b"))
    assert one == other


def test_the_name_of_a_file_that_is_too_large_is_a_placeholder_and_it_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = b"x" * ((1 << 20) + 1)

    def pinned(fact: e.Fact) -> e.Fact:
        if isinstance(fact, e.TaskPinned):
            return replace(fact, protected={**fact.protected, "of ada.h": digest(data)})
        return fact

    found = source(tmp_path, last=1, change=pinned)
    folder = found.workspace.run_folder("transpose_cuda", "r1") / "task" / "transpose_cuda"
    (folder / "of ada.h").write_bytes(data)
    monkeypatch.setattr(archive, "MOST_FILE", 1 << 20)
    made = gather(found, Scrub((), NAMES))
    assert made.manifest.left_out == ("task/of user1.h",) and "ada" not in whole(made)
    assert wrong(made) == []


def test_a_name_that_is_left_in_the_manifest_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StillNamed, match=r"manifest\.json still holds 'r1'"):
        gather(source(tmp_path, last=1), Scrub((), {"r1": "run1"}))


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("build.log", b"made by ada", "'ada'"),
        ("events.jsonl", b'{"memo": "on babbage"}\n', "'babbage'"),
        ("task/ada.h", b"", "'ada'"),
        ("build.log", b"in /home/grace/x", "'/home/grace'"),
        ("build.log", KEYS[0].encode(), "a key"),
        ("build.log", OF_ENVIRONMENT.encode(), "a key"),
    ],
)
def test_what_is_left_is_refused(name: str, data: bytes, said: str) -> None:
    with pytest.raises(StillNamed, match=f"still holds {said}"):
        refuse_named({name: data}, Scrub((OF_ENVIRONMENT,), NAMES))


def test_names_of_fields_are_no_names_of_people() -> None:
    scrub = Scrub((), placeholders({"run"}, set(), {}))
    assert json.loads(scrub.file("a.json", b'{"run": "run r1", "kind": "run", "run/x": 1}')) == {
        "run": "user1 r1", "kind": "run", "user1/x": 1,
    }  # fmt: skip


@pytest.mark.parametrize("data", [b"", b'{"a": 1}\r\n{"a": 2}\r\n', b'{"a": "x"}'])
def test_lines_without_a_name_stay_as_they_are(data: bytes) -> None:
    assert Scrub((), NAMES).file("x.jsonl", data) == data


def test_half_a_character_beside_a_name_is_escaped() -> None:
    assert Scrub((), NAMES).file("x.json", b'{"a": "ada \\ud800"}') == b'{"a": "user1 \\ud800"}'
