"""The facts of the recorded run that `kpd demo` plays."""

import difflib
from functools import cache
from typing import Any

from kpd.demo.recording import load
from kpd.model import codec
from kpd.model.state import State, TaskCard
from kpd.report.facts import Facts, gather
from tests.places import ROOT


@cache
def recorded_facts() -> Facts:
    """Gather them from the recording's events and files, as the verb does from a log."""
    recording = load(ROOT / "kpd" / "demo" / "h100.tar.xz")
    run, task = recording.about.run, recording.about.task

    def query(what: str, iteration: str = "") -> Any:
        if what == "status":
            card = TaskCard(task, "Transpose of a float32 matrix, in CUDA")
            return {"tasks": {task: codec.jsonable(card)}, "hosts": codec.jsonable(State().hosts)}
        number = int(iteration.partition(".")[2])
        files = {
            int(name.split("/")[3].removeprefix("iter_")): data.decode().splitlines(True)
            for name, data in recording.files.items()
            if name.endswith("/kernel.cu") and "/iter_" in name
        }
        return {"text": "".join(difflib.unified_diff(files[0], files[number]))}

    return gather(query, recording.events, run)
