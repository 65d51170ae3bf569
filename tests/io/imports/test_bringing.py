"""What the operator says of a benchmark reaches task.toml, whether or not the benchmark runs here."""

from pathlib import Path

import pytest

from kpd.imports.bringing import bring, read_benchmark
from kpd.imports.draft import Answers
from kpd.imports.errors import ImportRefused
from kpd.workspace.task import load_task
from tests.support.imports import harnessgym as gym
from tests.support.imports.folders import written

SAID = Answers(score="gflops", direction="higher", baseline="wrong")


@pytest.mark.parametrize("runs", [False, True])
def test_the_operators_score_and_direction_are_kept(tmp_path: Path, runs: bool) -> None:
    files = {**gym.FILES, "benchmark.py": "# --json\nraise SystemExit('no kernel')\n"}
    found = bring(written(tmp_path / "a", files), tmp_path / "b", "one", SAID)
    if runs:
        read_benchmark(found, SAID)
        assert found.run is not None and found.run.rc == 1
    bench = load_task(found.folder).bench
    assert (bench.score, bench.direction) == ("gflops", "higher")


def test_what_a_failing_benchmark_lacks_is_written(tmp_path: Path) -> None:
    files = {**gym.FILES, "benchmark.py": "# --json\nraise SystemExit('no kernel')\n"}
    found = bring(written(tmp_path / "a", files), tmp_path / "b", "one", Answers(baseline="wrong"))
    found.draft.put("bench", "score", "gflops")
    found.draft.put("bench", "direction", "higher")
    read_benchmark(found, Answers(baseline="wrong"))
    assert load_task(found.folder).bench.direction == "higher"


@pytest.mark.parametrize("said", [Answers(score="gflops"), Answers(direction="higher")])
def test_kpds_own_runner_has_its_own_score(tmp_path: Path, said: Answers) -> None:
    text = "class Model:\n    pass\ndef get_inputs():\n    pass\ndef get_init_inputs():\n    pass\n"
    with pytest.raises(ImportRefused, match="its score is a time"):
        bring(written(tmp_path / "a", {"p.py": text}), tmp_path / "b", "one", said)


def test_two_names_that_some_file_systems_do_not_tell_apart_are_refused(tmp_path: Path) -> None:
    files = {**gym.FILES, "Benchmark.py": ""}
    with pytest.raises(ImportRefused, match=r"enchmark\.py and .enchmark\.py cannot be files of one folder everywhere"):
        bring(written(tmp_path / "a", files), tmp_path / "b", "one", SAID)
    assert not (tmp_path / "b" / "one").exists()
