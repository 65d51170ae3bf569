"""The event log on a real disk: what is written is read back, and what cannot be written is said in words."""

import subprocess
import sys
import textwrap
from pathlib import Path

from kpd.daemon.store import EventStore


def test_a_write_that_the_system_refuses_leaves_the_log_as_it_was(tmp_path: Path) -> None:
    """A limit on the size of files makes the operating system itself refuse; in a child, whose limit it is."""
    program = """
        import resource, sys
        from pathlib import Path
        from kpd.daemon.store import EventStore, StoreError
        from kpd.model.events import Noticed
        from kpd.model.notices import Said

        store = EventStore(Path(sys.argv[1]))
        store.append(Noticed("info", Said("before")), 0.0)
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, before[1]))
        try:
            store.append(Noticed("info", Said("x" * 1_000_000)), 0.0)
        except StoreError as err:
            print(err.fault, [event.fact.about.text for event in store.read()])
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        print(store.append(Noticed("info", Said("after")), 0.0).seq)
    """
    found = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "events.db")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.splitlines() == ["unwritable ['before']", "2"]


def test_an_event_is_on_disk_when_append_returns(tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        from pathlib import Path
        from kpd.daemon.store import EventStore
        from kpd.model.events import Noticed
        from kpd.model.notices import Said

        store = EventStore(Path(sys.argv[1]))
        for n in range(20):
            store.append(Noticed("info", Said(str(n))), 0.0)
        os.kill(os.getpid(), signal.SIGKILL)
    """
    path = tmp_path / "events.db"
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False)
    with EventStore(path, read_only=True) as store:
        assert [event.seq for event in store.read()] == list(range(1, 21))
