"""Why the first run of a benchmark failed, and what helps: what it lacks is no fault of the kernel."""

import pytest

from kpd.imports.errors import Unclear
from kpd.imports.failing import failure
from kpd.imports.probe import Ran

FILES = ("kernel.py", "src/ops.py", "lib/__init__.py")


def told(stderr: str = "", stdout: str = "", rc: int | None = 1) -> tuple[str, str, bool]:
    found = failure(Ran("python3 b.py", rc, stdout, stderr, 1.0), FILES, 30.0)
    return found.message, found.remedy, isinstance(found, Unclear)


def test_a_library_that_is_missing_is_named_with_what_installs_it() -> None:
    message, remedy, asks = told("ModuleNotFoundError: No module named 'einops.layers'")
    assert message.startswith("`python3 b.py` exited with 1: ModuleNotFoundError")
    assert (remedy, asks) == ("python3 -m pip install einops, or put another python3 first on the PATH", False)
    assert "pytest" in told("/usr/bin/python3: No module named pytest")[1]


@pytest.mark.parametrize("name", ["kernel", "ops", "lib.more"])
def test_a_module_of_the_folder_is_its_own_fault(name: str) -> None:
    _, remedy, asks = told(f"ModuleNotFoundError: No module named '{name}'")
    assert asks
    assert remedy == "correct the folder; if its kernel alone is at fault, say it with --baseline wrong"


def test_what_the_result_says_goes_before_what_was_written_beside_it() -> None:
    assert told("tuning 3 points", '{"ok": false, "errors": ["no valid result: 3 != 2"]}\n')[0] == (
        "`python3 b.py` exited with 1: no valid result: 3 != 2"
    )
    assert told("tuning", '{"best_us": 3.0}\n')[0].endswith("exited with 1: tuning")


@pytest.mark.parametrize(
    ("rc", "how"), [(None, "did not end within 30 s"), (-11, "was ended by signal 11"), (3, "exited with 3")]
)
def test_how_it_ended(rc: int | None, how: str) -> None:
    assert told(rc=rc)[0] == f"`python3 b.py` {how}: it gave no reason"
