"""What a run goes on under, as an answer."""

from typing import Any

from kpd.engine.plan import in_vain
from kpd.model.nouns import Run


def terms(run: Run) -> dict[str, Any]:
    """Its budget and what of that is used up, and what its operator has chosen."""
    best = run.best
    return {
        "run": run.id,
        "status": run.status,
        "agent": run.agent,
        "model": run.model,
        "stands": run.stands,
        "budget": run.budget,
        "counted": len(run.counted),
        "in_vain": in_vain(run),
        "usd": run.spend.usd,
        "score": best.score if best is not None else None,
    }
