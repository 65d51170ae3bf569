"""Formats answers of the daemon that say more than "done"."""

from typing import Any

from kpd.model.codec import CodecError, decode, encode
from kpd.model.hosts import HostCard
from kpd.text.numbers import counted
from tui.format.text import clean
from tui.model import hosts
from tui.model.view import StatusMessage

UNREADABLE = StatusMessage("the daemon's answer cannot be read: use one version of kpd", good=False)


def profiled(result: Any) -> StatusMessage:
    try:
        files, metrics = result["files"], result["metrics"]
        ref = f"{result['run']}.{result['iteration']}"
        text = f"{ref} is profiled: {counted(len(metrics), 'metric')}, and {', '.join(map(str, files))} in its folder"
    except (KeyError, TypeError):
        return UNREADABLE
    return StatusMessage(clean(text))


def hosts_now(result: Any) -> StatusMessage:
    """Return a message on the state of the hosts that the daemon has just checked."""
    try:
        cards = decode(encode(result["hosts"]), tuple[HostCard, ...])
    except (CodecError, KeyError, TypeError):
        return UNREADABLE
    return StatusMessage(hosts.brief(cards), good=all(card.link == "up" for card in cards))
