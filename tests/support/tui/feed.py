"""A feed that plays a canned log (a real fold, real queries, recorded commands) and the UI on it."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC
from typing import Any, cast

from textual.pilot import Pilot

from kpd.daemon import knowledge_views, tool_calls
from kpd.daemon.accounting import account
from kpd.daemon.contests import matrix_of
from kpd.daemon.store import EventStore
from kpd.messages import Push
from kpd.model import events as e
from kpd.model.codec import encode, event_to_json
from kpd.model.detail import Detail, detail
from kpd.model.notices import Notice
from kpd.subscription import DaemonError, NoDaemon
from kpd.workspace.config import TuiConfig
from tests.support.tui.logs import Log
from tui.app import KpdApp
from tui.model.feed import Feed

DIFF = """--- a/kernel.c
+++ b/kernel.c
@@ -14,8 +14,12 @@
 void kernel(const float *x, const float *w, const float *g, float *y, size_t rows, size_t cols) {
     for (size_t r = 0; r < rows; r++) {
-        float sum = 0.0f;
-        for (size_t c = 0; c < cols; c++)
-            sum += x[r * cols + c] * x[r * cols + c];
+        float s[UNROLL] = {0};
+        for (size_t c = 0; c < cols; c += UNROLL)
+            for (size_t u = 0; u < UNROLL; u++)
+                s[u] += x[r * cols + c + u] * x[r * cols + c + u];
+        float sum = 0.0f;
+        for (size_t u = 0; u < UNROLL; u++)
+            sum += s[u];
         const float scale = 1.0f / sqrtf(sum / cols + EPS);
         for (size_t c = 0; c < cols; c++)
             y[r * cols + c] = x[r * cols + c] * scale * w[c] * silu(g[r * cols + c]);
--- a/build.json
+++ b/build.json
@@ -1 +1 @@
-{"flags": "-O2"}
+{"flags": "-O3 -march=native"}
"""
SKILL = """**Root causes**
- the row is read twice, and the second pass finds it evicted from the cache
- one scalar accumulator makes every addition wait for the one before it

**Fixes**
- several partial sums, added up at the end
- block long rows so that both passes stay in the second-level cache

**Anti-patterns**
- software prefetch in a loop that the hardware prefetcher already follows
"""
KERNEL = """void kernel(float *y, size_t count) {
    for (size_t i = 0; i < count; i++)
        y[i] *= 2;
}
"""


class CannedFeed:
    """Plays a log: first its state, then whatever the test pushes; answers from the same events, keeps the commands."""

    def __init__(self, log: Log, refuse: dict[str, DaemonError] | None = None) -> None:
        self.log = log
        self.refuse = refuse or {}
        self.commands: list[tuple[str, dict[str, Any]]] = []
        self.queries: list[tuple[str, dict[str, Any]]] = []
        self.diary: list[Notice] = []
        self.files: dict[str, str] = {}  # of every iteration, by name
        self.change = DIFF  # of the deployment that waits
        self.built: list[dict[str, Any]] = []
        self.state = log.state
        self.on_command: Callable[[str, dict[str, Any]], Any] = lambda verb, args: {}
        self._pushed: asyncio.Queue[Push | DaemonError] = asyncio.Queue()

    def push(self, *messages: Push | DaemonError) -> None:
        for message in messages:
            self._pushed.put_nowait(message)

    def play(self, facts: Iterable[e.Fact]) -> None:
        """Record facts and send them on."""
        for fact in facts:
            self.log.emit(fact)
            self.push(self.log.events[-1])

    @property
    def pending(self) -> int:
        """Messages that the UI has not taken yet."""
        return self._pushed.qsize()

    async def messages(self, after: int = 0) -> AsyncIterator[Push]:
        if after == 0:
            yield self.state
        while True:
            message = await self._pushed.get()
            if isinstance(message, DaemonError):
                raise message
            yield message

    async def query(self, what: str, **args: Any) -> Any:
        self.queries.append((what, args))
        if what in self.refuse:
            raise self.refuse[what]
        match what:
            case "show":
                return self._show(args["iteration"])
            case "diff":
                return {
                    "text": "" if args["iteration"].endswith(".0") else DIFF,
                    "from": args.get("against", "r1.1"),
                    "to": args["iteration"],
                }
            case "change":
                return {"text": self.change, "diff": self.log.state.deployments[args["deployment"]].deployment.asks}
            case "file" if args["name"].startswith("candidate/"):
                return {"text": KERNEL, "truncated": False}
            case "file" if args["name"] in self.files:
                return {"text": self.files[args["name"]], "truncated": False}
            case "events":
                return [_json(event) for event in self._of(args["run"], args["iteration"])]
            case "log":
                return [_json(event) for event in self._of(args["run"], kind=e.RunFact)][-args["limit"] :]
            case "cost":
                run = self.log.state.runs[args["run"]]
                return _plain({"days": self.log.state.days, "runs": [account(run, self._of(run.id))]})
            case "cases":
                run = self.log.state.runs[args["run"]]
                timed = {event.fact.iteration: event.fact for event in self._of(run.id, kind=e.Timed)}
                return _plain(matrix_of(run, timed))
            case "rules":
                return _plain(knowledge_views.rules(self.log.state.runs.values(), {}))
            case "diary":
                return _plain(self.diary)
            case "tool_calls":
                return _plain(tool_calls.summary(cast(EventStore, self), args.get("run")))
            case "toolbox":
                return list(self.built)
            case "skill":
                return {"id": args["id"], "signal": "achieved GB/s far below the measured bandwidth", "body": SKILL}
        raise DaemonError("unknown", f"no such question: {what}")

    async def command(self, verb: str, **args: Any) -> Any:
        self.commands.append((verb, args))
        if verb in self.refuse and not args.get("force"):
            raise self.refuse[verb]
        return self.on_command(verb, args)

    async def close(self) -> None:
        """Nothing to let go of."""

    def read(self, run: str | None, kind: str) -> list[e.Event]:
        """Return events as the store does."""
        found = [event for event in self.log.events if event.fact.kind() == kind]
        return [event for event in found if run in (None, getattr(event.fact, "run", None))]

    def detail(self, run: str, number: int) -> Detail:
        return detail(self._of(run, number))

    def _of(self, run: str, number: int | None = None, kind: type[e.RunFact] = e.IterationFact) -> list[e.Event]:
        return [
            event for event in self.log.events
            if isinstance(event.fact, kind) and event.fact.run == run
            and number in (None, getattr(event.fact, "iteration", None))
        ]  # fmt: skip

    def _show(self, ref: str) -> Any:
        run_id, _, number = ref.partition(".")
        run = self.log.state.runs[run_id]
        it = run.iteration(int(number))
        assert it is not None
        parent = None if it.parent == it.number else self.detail(run_id, it.parent)
        first = None if it.number == 0 else self.detail(run_id, 0)
        found = {"run": run_id, "iteration": it, "detail": self.detail(run_id, it.number), "parent": parent}
        return _plain({**found, "baseline": first, "folder": f"runs/{run.task}/{run_id}/iter_{it.number:04d}"})


def _plain(value: Any) -> Any:
    """Through JSON and back, as over the socket."""
    return json.loads(encode(value))


def _json(event: e.Event) -> Any:
    return json.loads(event_to_json(event))


def app_on(feed: CannedFeed | None, read_only: bool = False, elsewhere: str = "", **config: Any) -> KpdApp:
    """The UI on a feed, with none: without a daemon. It redraws often enough for a test not to wait."""

    async def connect() -> Feed:
        if feed is None:
            raise NoDaemon()
        return feed

    config["theme"] = config.get("theme") or "kpd-dark"  # not what the terminal of the tests can show
    tui = TuiConfig(**{"refresh_hz": 200.0, **config})
    return KpdApp(connect, "kernels", tui, read_only, UTC, first_wait=0.01, elsewhere=elsewhere)


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until the app has shown everything it was sent and all its questions are answered."""
    app = pilot.app
    assert isinstance(app, KpdApp)
    for _ in range(500):
        await pilot.pause()
        asked = any(worker.group in ("ask", "send") and not worker.is_finished for worker in app.workers)
        if app.view.link.state != "connecting" and app._due is None and not asked:
            return
    raise AssertionError("the UI does not come to rest")
