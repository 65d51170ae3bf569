"""kpd cost: what models cost in runs and beside them."""

import json
import re
import time

from kpd.claude.purse import FILE, Purse
from kpd.hosts.gpu_hours import GpuHours, Lent, hours_file
from kpd.model import events as e
from kpd.model.spending import Usage
from kpd.workspace.config import ClaudeConfig
from tests.support.cli.served import Served, served

__all__ = ["served"]


async def test_calls_beside_runs_have_a_table_and_are_in_the_sum_of_their_day(served: Served) -> None:
    served.queue("r1")
    served.journal.emit(e.IterationStarted("r1", 1, "claude", 0))
    served.journal.emit(e.Asked("r1", 1, 1, "propose", "m", 1.0))
    served.journal.emit(e.Billed("r1", 1, "propose", "m", Usage(input=5), 1.0, False, 1))
    harness = Purse(served.ws.root, "task t", ClaudeConfig(), lambda: 0.0)
    for usd in (0.25, 0.5):
        harness.billed(harness.begin("harness", "m", 1.0), Usage(output=7), usd, cut=False)
    Purse(served.ws.root, "deployment 1 of p", ClaudeConfig(), lambda: 0.0).begin("fix", "m", 2.0)  # nobody saw its end
    _, out, _ = await served.kpd("cost")
    run, beside, day = (" ".join(block.split()) for block in out.split("\n\n"))
    assert "r1 scale 1 5 0 0 0 $1.00" in run
    assert beside.startswith("BESIDE RUNS PURPOSE CALLS")
    assert "task t harness 2 0 0 0 14 $0.75" in beside
    assert "deployment 1 of p fix 1 0 0 0 0 ~$2.00" in beside
    assert day.endswith(" 4 5 0 0 14 ~$3.75")
    _, out, _ = await served.kpd("cost", "--json")
    told = json.loads(out)
    assert [one["of"] for one in told["beside"]] == ["task t", "task t", "deployment 1 of p"]
    assert (told["today_usd"], told["runs_usd"]) == (3.75, 1.0)
    (served.ws.root / FILE).unlink()
    (served.ws.root / FILE).mkdir()
    code, _, err = await served.kpd("cost")
    assert (code, "what models have cost beside runs is not known" in err) == (3, True)


async def test_the_gpu_hours_of_a_cluster_are_told_by_account_and_user(served: Served) -> None:
    hours, now = GpuHours(hours_file(served.ws)), time.time()
    hours.note(Lent("c", "7", "me", "kernels", 2, begun=now - 90_000, ends=now - 86_400, ended=now - 88_200))
    hours.note(Lent("c", "8", "me", "kernels", 4, begun=now - 90_000, ends=now - 86_400))
    _, out, _ = await served.kpd("cost")
    assert "c kernels me 2 0.00 5.00" in " ".join(out.split())
    _, out, _ = await served.kpd("cost", "--json")
    assert [one["job"] for one in json.loads(out)["allocations"]] == ["7", "8"]

    hours.note(Lent("c", "9", "me", "kernels", 3600, begun=now, ends=now + 3600))
    served.queue("r1")
    served.journal.emit(e.RunStarted("r1", "H100", "c", "GPU-0"))
    served.journal.emit(e.IterationStarted("r1", 0, "baseline", 0))
    _, out, _ = await served.kpd("cost")
    assert re.fullmatch(r"RUN GPU HOURS r1 [0-9.]+ no run [0-9.]+", " ".join(out.split("\n\n")[1].split()))
    _, _, err = await served.kpd("cost", "r1")
    assert "GPU hours of allocations" in err
