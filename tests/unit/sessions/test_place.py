"""What of this machine an agent's program may read."""

from pathlib import Path

import pytest

from kpd.sessions.place import installed


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    found = tmp_path / "home"
    monkeypatch.setenv("HOME", str(found))
    monkeypatch.setenv("PATH", "")
    return found


def made(path: Path) -> Path:
    path.parent.mkdir(parents=True)
    path.touch()
    return path


def test_beside_the_programs_of_the_home_nothing_is_opened(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = made(home / ".local" / "bin" / "agent")
    monkeypatch.setenv("PATH", f"{program.parent}:/opt/x/bin:relative:{home}:{home.parent}")
    beside = [f"/opt/x/{name}" for name in ("lib", "lib64", "include", "share")]
    assert installed(program, home / "w") == (str(program.parent), "/opt/x/bin", *beside)


@pytest.mark.parametrize("below", [".", "project", ".nvm/v20/lib"])
def test_of_a_package_its_outermost_folder_of_modules_is_opened(home: Path, below: str) -> None:
    real = made(home / below / "node_modules" / "a" / "node_modules" / "b" / "agent.js")
    program = home / below / "node_modules" / ".bin" / "agent"
    program.parent.mkdir()
    program.symlink_to(real)
    modules = home / below / "node_modules"
    assert installed(program, home / "project") == (str(modules), str(program.parent))


def test_a_program_in_the_home_or_the_workspace_itself_is_opened_alone(home: Path) -> None:
    for folder, workspace in ((home, home / "w"), (home / "w", home / "w"), (home / "w", home / "w" / "deep")):
        program = folder / "agent"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.touch()
        assert installed(program, workspace) == (str(program),)
