"""kpd bundle and kpd verify on a real log without a daemon, with signatures of the real ssh-keygen."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.evidence import archive
from kpd.evidence.archive import pack, read
from tests.support.cli.recorded_run import workspace_of
from tests.support.evidence.bundles import with_file

Printed = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return workspace_of(tmp_path_factory.mktemp("bundle") / "ws").root


@pytest.fixture(scope="module")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("keys") / "ada"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "ada", "-f", path], check=True)
    return path


def signers(path: Path, key: Path) -> str:
    path.write_text(f'ada@example.org namespaces="kpd-bundle" {key.with_suffix(".pub").read_text()}')
    return str(path)


def test_a_bundle_holds_where_there_is_no_workspace(
    root: Path, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["-w", str(root), "bundle"]) == 0
    assert capsys.readouterr().out == "transpose_cuda-r1.kpd.tgz\n"
    assert main(["-w", str(root), "bundle", "r1", "-o", "again.tgz"]) == 0
    assert Path("again.tgz").read_bytes() == Path("transpose_cuda-r1.kpd.tgz").read_bytes()
    monkeypatch.setenv("KPD_WORKSPACE", str(tmp_path / "none"))
    capsys.readouterr()
    assert main(["verify", "transpose_cuda-r1.kpd.tgz"]) == 0
    shown = capsys.readouterr()
    assert "✓ r1.7" in shown.out and "✗" not in shown.out and "everything holds" in shown.err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.tgz", "transpose_cuda-r1.kpd.tgz"], (
        "no path of an archive is written"
    )


def test_what_does_not_hold_is_a_line_and_an_exit_code(root: Path, tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "b.tgz"
    assert main(["-w", str(root), "bundle", "-o", str(path)]) == 0
    path.write_bytes(pack(with_file(read(path), "iterations/0007/timing.json", None)))
    capsys.readouterr()
    assert main(["verify", str(path)]) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("✗")]
    assert wrong[0].split()[1:] == ["r1.7", "timing.json", "is", "missing"]
    assert main(["verify", str(path), "--json"]) == 1
    said = json.loads(capsys.readouterr().out)
    assert not said["holds"] and {"holds": False, "about": "r1.7", "text": "timing.json is missing"} in said["lines"]


def test_a_bundle_cannot_write_lines_of_its_own(root: Path, tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "b.tgz"
    assert main(["-w", str(root), "bundle", "-o", str(path)]) == 0
    found = read(path)
    name = "x\n✓ signature \x1b[2J good"
    path.write_bytes(pack(replace(found, files={**found.files, name: b""})))
    capsys.readouterr()
    assert main(["verify", str(path)]) == 1
    shown = capsys.readouterr().out
    assert "✗ x ✓ signature" in shown and "\x1b" not in shown


def test_what_cannot_be_read_is_another_exit_code(tmp_path: Path, capsys: Printed) -> None:
    (tmp_path / "b.tgz").write_text("no bundle")
    assert main(["verify", str(tmp_path / "b.tgz")]) == 2
    assert main(["verify", str(tmp_path / "none.tgz")]) == 2
    assert main(["verify", str(tmp_path / "b.tgz"), "--signers", str(tmp_path / "none")]) == 2
    shown = capsys.readouterr()
    assert shown.out == "" and "it is no gzip file" in shown.err and "there is no file" in shown.err


def test_a_signature_says_whose_it_is(root: Path, key: Path, tmp_path: Path, capsys: Printed) -> None:
    path, known = tmp_path / "b.tgz", signers(tmp_path / "signers", key)
    assert main(["-w", str(root), "bundle", "-o", str(path), "--sign", str(key)]) == 0
    capsys.readouterr()
    assert main(["verify", str(path), "--signers", known]) == 0
    assert 'Good "kpd-bundle" signature for ada@example.org with ED25519 key' in capsys.readouterr().out
    assert main(["verify", str(path)]) == 0
    assert "whose key that is was not checked" in capsys.readouterr().out


def test_a_signature_that_does_not_fit_is_found(root: Path, key: Path, tmp_path: Path, capsys: Printed) -> None:
    path, known = tmp_path / "b.tgz", signers(tmp_path / "signers", key)
    assert main(["-w", str(root), "bundle", "-o", str(path)]) == 0
    assert main(["verify", str(path), "--signers", known]) == 1
    assert "signature    is missing" in capsys.readouterr().out
    assert main(["-w", str(root), "bundle", "-o", str(path), "--sign", str(key)]) == 0
    path.write_bytes(pack(with_file(read(path), "iterations/0003/build.log", b"another")))
    capsys.readouterr()
    for more in ([], ["--signers", known]):
        assert main(["verify", str(path), *more]) == 1
        assert [line[2:11] for line in capsys.readouterr().out.splitlines() if line.startswith("✗")] == ["signature"]
    (tmp_path / "signers").write_text("")
    assert main(["verify", str(path), "--signers", known]) == 1
    assert "is by no signer of" in capsys.readouterr().out


def test_a_key_that_cannot_sign_is_told(root: Path, tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "b.tgz"
    assert main(["-w", str(root), "bundle", "-o", str(path), "--sign", str(tmp_path / "none")]) == 3
    assert "could not be signed" in capsys.readouterr().err and not path.exists()


def test_a_scrubbed_bundle_names_nobody_here(root: Path, tmp_path: Path, capsys: Printed) -> None:
    path = tmp_path / "b.tgz"
    assert main(["-w", str(root), "bundle", "-o", str(path), "--scrub", "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["holds"] and said["scrubbed"] and not said["signed"]
    assert not any(str(root).encode() in data for data in read(path).files.values())
    assert main(["verify", str(path)]) == 0


def test_a_user_without_a_name_can_scrub(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, whose user has no entry in passwd."""
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(os, "getuid", lambda: 54321)
    assert main(["-w", str(root), "bundle", "-o", str(tmp_path / "b.tgz"), "--scrub"]) == 0


@pytest.mark.parametrize(
    ("argv", "said"), [(["r7"], "no run 'r7'"), (["r1", "-o", "nowhere/b.tgz"], "there is no folder nowhere")]
)
def test_what_cannot_be_bundled_is_said(root: Path, capsys: Printed, argv: list[str], said: str) -> None:
    assert main(["-w", str(root), "bundle", *argv]) == 64
    assert said in capsys.readouterr().err


def test_a_run_that_is_too_large_is_said(
    root: Path, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MOST_FILES", 10)
    assert main(["-w", str(root), "bundle", "-o", str(tmp_path / "b.tgz")]) == 1
    assert "does not fit into a bundle: it holds more than 10 files" in capsys.readouterr().err
    assert not (tmp_path / "b.tgz").exists()
