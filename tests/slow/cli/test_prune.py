"""kpd runs prune --archive: the bundle is there before files go, and stays wherever they may be gone."""

import tempfile
from pathlib import Path

import pytest

from kpd.cli.main import main
from kpd.wire import DaemonError
from tests.support.cli.recorded_run import workspace_of
from tests.support.cli.served import serving


async def test_the_bundle_stays_unless_surely_nothing_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    bundle = tmp_path / "transpose_cuda-r1.kpd.tgz"
    with tempfile.TemporaryDirectory(dir="/tmp", prefix="kpd") as runtime:
        monkeypatch.setenv("XDG_RUNTIME_DIR", runtime)
        async with serving(workspace_of(tmp_path / "ws")) as served:
            prune = ("runs", "prune", "r1", "--yes", "--archive", str(tmp_path))
            served.refusal = DaemonError("refused", "r1 is under way", "kpd stop r1")
            code, _, err = await served.kpd(*prune)
            assert (code, bundle.exists()) == (1, False)
            assert "r1: r1 is under way; kpd stop r1" in err

            served.refusal = DaemonError("infra", "the disk fails", "look at it")
            code, _, err = await served.kpd(*prune)
            assert code == 1
            assert f"r1: the disk fails; files may be gone, and its bundle is {bundle}; look at it" in err
            assert main(["verify", str(bundle)]) == 0

            served.refusal, before = None, bundle.read_bytes()
            code, _, err = await served.kpd(*prune)
            assert (code, served.commands, bundle.read_bytes()) == (1, [], before)
            assert f"there is {bundle} already; move it away" in err
            bundle.unlink()
            code, out, _ = await served.kpd(*prune)
            assert (code, bundle.read_bytes()) == (0, before)
            assert f"r1: 2 candidates, 1.0 MiB, its bundle is {bundle}" in out
            assert served.commands == [("prune", {"run": "r1", "keep_best": False})]

            code, _, err = await served.kpd("runs", "prune", "--yes", "--archive", str(tmp_path))
            assert (code, f"there is {bundle} already" in err) == (1, True)  # of all runs one was not pruned
            served.refusal = DaemonError("refused", "r1 has nothing to prune", "kpd runs lists what takes space")
            assert (await served.kpd("runs", "prune", "--yes"))[0] == 0
            served.refusal = None
            served.refused = {"r2"}
            served.queue("r2")
            assert (await served.kpd("runs", "prune", "r1", "r2", "--yes"))[0] == 1
            assert served.commands[1:] == [("prune", {"run": "r1", "keep_best": False})]
