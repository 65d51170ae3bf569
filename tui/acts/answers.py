"""What the operator is told when the daemon has done what they asked for."""

from typing import Any

from kpd.model.codec import CodecError, decode, encode
from kpd.model.places import HostCard
from tui.acts.action import Args
from tui.model import hosts
from tui.model.view import Said
from tui.words.numbers import count
from tui.words.text import clean

UNREADABLE = Said("the daemon's answer cannot be read: use one version of kpd", good=False)


def resumed(done: Args) -> str:
    return f"{done['run']} goes on" if done.get("run") else "the queue goes on"


def gate_set(done: Args) -> str:
    if done.get("on"):
        return f"candidates of {done.get('run')} wait for your review before they are built"
    return f"candidates of {done.get('run')} are built without waiting for you"


def agent_changed(done: Args) -> str:
    model = f"the model {done['model']}" if "model" in done else ""
    who = " with ".join(part for part in (str(done.get("agent", "")), model) if part)
    return f"{done.get('run')}: {who} from the next iteration on"


def rule_set(done: Args) -> str:
    """What agents are told of a rule now."""
    told = {"pinned": "is pinned: agents hear of it first", "banned": "is banned: agents do not hear of it"}
    return f"{done.get('rule')} {told.get(str(done.get('stand')), 'is neither pinned nor banned now')}"


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
