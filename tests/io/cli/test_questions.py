"""The questions of `kpd task new` and of `kpd runs prune` on a real pseudo-terminal."""

from pathlib import Path

from kpd.model import events as e
from kpd.model.kinds import Told
from kpd.workspace.task import load_task
from tests.support.cli.served import Served, served
from tests.support.cli.terminal import Place, Terminal, place

__all__ = ["place", "served"]


def test_a_new_task_asks_for_the_type_and_the_sizes_until_the_answer_can_be_read(place: Place) -> None:
    asks = Terminal(place, "task", "new", "gemm", "--like", "matmul")
    asks.until("type of the elements (float32 or float64) [float32]: ")
    asks.press("float16\r")
    asks.until("'float16' is none of float32, float64")
    asks.press("float64\r")
    asks.until("sizes to time (m x n x k, several with commas) [")
    asks.press("64x64\r")
    asks.until("64x64")
    asks.press("64x64x32,33x47x29\r")
    asks.until("tasks/gemm")
    assert asks.code() == 0
    made = place.ws.root / "tasks" / "gemm"
    assert load_task(made).name == "gemm"
    harness = (made / "harness.c").read_text()
    assert "double" in (made / "kernel.c").read_text() and "33" in harness and "47" in harness


def test_enter_takes_what_is_in_brackets(place: Place) -> None:
    asks = Terminal(place, "task", "new", "total", "--like", "reduction", "--lang", "python")
    asks.until("[float32]: ")
    asks.press("\r")
    asks.until("sizes to time (n, several with commas) [")
    asks.press("\r")
    asks.until("tasks/total")
    assert asks.code() == 0
    assert "float32" in (place.ws.root / "tasks" / "total" / "harness.py").read_text()


async def test_prune_asks_and_enter_is_no(served: Served, tmp_path: Path) -> None:
    served.queue("r1")
    served.journal.emit(e.RunEnded("r1", "improved", Told("done")))
    at = Place(served.ws.root, str(tmp_path))
    at.env.pop("XDG_RUNTIME_DIR")  # the log is enough to ask
    asks = Terminal(at, "runs", "prune")
    asks.until("Remove all others? [y/N] ")
    asks.press("\r")
    asks.until("nothing was removed")
    assert asks.code() == 1
    assert served.commands == []
