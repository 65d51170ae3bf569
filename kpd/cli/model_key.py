"""The model service's API key, as kpd doctor tells of it: whether there is one, and who needs it. Never the key."""

from collections.abc import Mapping
from typing import Any

from kpd.agents.catalogue import asks_models
from kpd.model.places import Check

NAME = "model key"


def model_key(known: Mapping[str, Any], agent: str, runs: Mapping[str, str], daemon: bool) -> Check:
    """`known` is the answer to the query `model_key`, of the `daemon` if one runs, else of this process.

    `agent` is the config's, `runs` are the agents of the runs that have not ended, by the runs' ids.
    """
    name, trouble = known["variable"], known["trouble"]
    where = "the daemon's environment" if daemon else "this environment; kpd start hands it on"
    if not trouble:
        return Check(NAME, "ok", f"{name} is set in {where}")
    needs = [f"the agent of config.toml ({agent})"] if asks_models(agent) else []
    needs += [run for run, agents in runs.items() if asks_models(agents)]
    if not needs:
        return Check(NAME, "off", f"{trouble}; only the agent claude and kpd task new --from need it")
    restart = "kpd shutdown, then kpd start" if daemon else "then kpd start"
    return Check(NAME, "bad", f"{trouble}; needed by {', '.join(needs)}", f"export {name}=…, {restart}")
