"""Records facts, the only way to do so: appends to the log, folds into the state, publishes to subscribers."""

import hashlib
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import kpd.model
from kpd.daemon.store import EventStore, StoreError
from kpd.messages import Live
from kpd.model import codec
from kpd.model.events import Event
from kpd.model.fact import Fact
from kpd.model.facts.workspace import QueueHeld, QueueReleased
from kpd.model.fold import fold
from kpd.model.state import State
from kpd.model.waits import Hold

SNAPSHOT_EVERY = 2000  # events; folding so many at a start takes about 0.1 s
LIVE_CHARACTERS = 16_384  # of one live message; longer text is cut into several
Message = Event | Live | State
Listener = Callable[[Message], None]
log = logging.getLogger(__name__)


class EventJournal:
    """The log, and the state that it folds to. All calls must come from the event loop's thread."""

    def __init__(self, store: EventStore) -> None:
        """Open the journal on a log. Raises StoreError where the log cannot be read."""
        self.store = store
        self._fold = model_digest()
        self._folded, self._snapshot_seq = _load(store, self._fold)
        self._suspended: Hold | None = None
        self._listeners: list[Listener] = []
        self._outgoing: deque[Message] = deque()
        self._publishing = False

    @property
    def state(self) -> State:
        """The fold of the log; while the journal is suspended, with the queue held for that reason."""
        return replace(self._folded, held=self._suspended) if self._suspended else self._folded

    def emit(self, fact: Fact) -> Event:
        """Record a fact. It is durable, folded and published when this returns.

        Raises StoreError (disk full, …) or CodecError (a fact that could not be read back); the state is unchanged.
        """
        return self.record(fact, time.time())

    def record(self, fact: Fact, at: float) -> Event:
        """Record a fact that happened at the Unix time `at`; otherwise as `emit`."""
        # Fold it before it is written: a fact that cannot be folded would break every later start.
        fold(self._folded, Event(self._folded.seq + 1, at, fact))
        event = self.store.append(fact, at)
        self._folded = fold(self._folded, event)
        if isinstance(fact, QueueHeld | QueueReleased):
            self._suspended = None
        self._publish(event)
        if event.seq - self._snapshot_seq >= SNAPSHOT_EVERY:
            self.snapshot()
        return event

    def suspend(self, hold: Hold) -> None:
        """Hold the queue in memory only, until the next fact about it; for a log that cannot be written.

        Subscribers get the whole state, because no event says this.
        """
        self._suspended = hold
        self._publish(self.state)

    def live(self, channel: str, run: str, iteration: int, text: str) -> None:
        """Broadcast output that is not recorded."""
        for start in range(0, len(text), LIVE_CHARACTERS):
            self._publish(Live(channel, run, iteration, text[start : start + LIVE_CHARACTERS]))

    def events(
        self, run: str | None = None, iteration: int | None = None, after: int = 0, limit: int | None = None
    ) -> Iterator[Event]:
        """Return recorded events, oldest first. Raises StoreError."""
        return self.store.read(after, limit, run, iteration)

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Call `listener` with every message from now on, in order. Return the function that ends this."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    def snapshot(self) -> None:
        """Save the state, so that the next start folds only later events. A failure costs time, not facts."""
        self._snapshot_seq = self._folded.seq
        try:
            self.store.save_snapshot(self._folded.seq, self._fold, codec.encode(self._folded))
        except StoreError as err:
            log.warning("no snapshot of the state: %s", err)

    def close(self) -> None:
        """Snapshot the state and close the log."""
        self.snapshot()
        self.store.close()

    def _publish(self, message: Message) -> None:
        self._outgoing.append(message)
        if self._publishing:  # a listener emitted: its event is sent after the present one
            return
        self._publishing = True
        try:
            while self._outgoing:
                told = self._outgoing.popleft()
                for listener in tuple(self._listeners):
                    listener(told)
        finally:
            self._publishing = False


def load_state(store: EventStore) -> State:
    """Return the fold of all events in the log, starting from the newest usable snapshot. Raises StoreError."""
    return _load(store, model_digest())[0]


def model_digest() -> str:
    """Return a digest of the model's source code: a state that was folded by other code is not used."""
    source = hashlib.sha256()
    for file in sorted(Path(kpd.model.__path__[0]).glob("*.py")):
        source.update(file.read_bytes())
    return source.hexdigest()


def _load(store: EventStore, digest: str) -> tuple[State, int]:
    """Return the present state, and the number of the last event in the snapshot that was used."""
    state = State()
    raw = store.snapshot(digest)
    if raw is not None:
        try:
            state = codec.decode(raw, State)
        except codec.CodecError as err:
            log.warning("the snapshot in %s is ignored: %s", store.path, err)
    snapshot_seq = state.seq
    for event in store.read(after=state.seq):
        if event.seq != state.seq + 1:
            message = f"event {state.seq + 1} is missing in {store.path}"
            raise StoreError("damaged", message, "restore a copy of the file")
        state = fold(state, event)
    return state, snapshot_seq
