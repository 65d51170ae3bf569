"""The daemon's own log as those see it who look on from elsewhere."""

import asyncio
import logging
from pathlib import Path

import pytest

from kpd.daemon.journal import EventJournal
from kpd.daemon.log_tail import MOST_LINES, NOTICED, LogTail
from kpd.daemon.store import EventStore
from kpd.messages import Live
from kpd.wire import DAEMON_LOG, DaemonError
from tests.support.daemon.real_daemon import RealDaemon, daemon, workspace

__all__ = ["daemon", "workspace"]

log = logging.getLogger("kpd.somewhere")


async def test_the_newest_lines_are_kept_and_each_is_news(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    journal = EventJournal(EventStore(tmp_path / "store.sqlite3"))
    news: list[object] = []
    journal.subscribe(news.append)
    diary = LogTail(journal)
    with diary.kept():
        log.info("host %s is up", "gpu1")
        log.debug("nobody needs to know")
        log.info("an event says this, too", extra=NOTICED)
        await asyncio.to_thread(log.warning, "from another thread")
        try:
            raise ValueError("of kpd's own")
        except ValueError:
            log.exception("cannot answer")
        await asyncio.sleep(0)
    log.error("too late")
    await asyncio.sleep(0)
    assert [(line["level"], line["about"]["text"]) for line in diary.answer({})] == [
        ("info", "host gpu1 is up"),
        ("warning", "from another thread"),
        ("error", "cannot answer: ValueError: of kpd's own"),
    ]
    assert news[0] == Live(DAEMON_LOG, "", 0, "host gpu1 is up\n")
    assert len(news) == 3
    with diary.kept():
        for nth in range(2 * MOST_LINES):
            log.info("line %d", nth)
        await asyncio.sleep(0)
    assert [line["about"]["text"] for line in diary.answer({})] == [
        f"line {nth}" for nth in range(MOST_LINES, 2 * MOST_LINES)
    ]
    with pytest.raises(DaemonError, match="takes no 'limit'"):
        diary.answer({"limit": 3})
    journal.close()


def test_a_real_daemon_tells_what_it_logs(daemon: RealDaemon) -> None:
    daemon.start()
    lines = daemon.until(lambda: daemon.query("diary"), "the first line")
    assert "host local is up" in [line["about"]["text"] for line in lines]
