"""What the operator is told of an answer that says more than that it is done."""

from typing import Any

from kpd.model.codec import CodecError, decode, encode
from kpd.model.places import HostCard
from tui.model import hosts
from tui.model.view import Said
from tui.words.numbers import count
from tui.words.text import clean

UNREADABLE = Said("the daemon's answer cannot be read: use one version of kpd", good=False)


def profiled(result: Any) -> Said:
    try:
        files, metrics = result["files"], result["metrics"]
        ref = f"{result['run']}.{result['iteration']}"
        text = f"{ref} is profiled: {count(len(metrics), 'metric')}, and {', '.join(map(str, files))} in its folder"
    except (KeyError, TypeError):
        return UNREADABLE
    return Said(clean(text))


def hosts_now(result: Any) -> Said:
    """How the hosts are that the daemon has just looked at."""
    try:
        cards = decode(encode(result["hosts"]), tuple[HostCard, ...])
    except (CodecError, KeyError, TypeError):
        return UNREADABLE
    return Said(hosts.brief(cards), good=all(card.link == "up" for card in cards))
