"""Whether this machine gives a network namespace: only a definite answer is kept."""

from collections.abc import Iterator

import pytest

from kpd.hosts import own_network
from kpd.hosts.own_network import can_isolate


@pytest.fixture(autouse=True)
def anew() -> Iterator[None]:
    can_isolate.cache_clear()
    yield
    can_isolate.cache_clear()


def test_a_trial_that_was_too_slow_is_no_answer_and_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as slow:
        slow.setattr(own_network, "TRIAL_S", 0.001)
        with pytest.raises(OSError, match="was not found out in"):
            can_isolate()
    assert can_isolate() in (True, False)
    assert can_isolate.cache_info().currsize == 1


def test_a_trial_that_breaks_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own_network.sys, "executable", "/bin/false")
    with pytest.raises(OSError, match="the trial ended with 1"):
        can_isolate()
