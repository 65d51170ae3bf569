"""Computes which parameters of a sweep mattered."""

from collections.abc import Iterable
from math import isfinite, log

from kpd.report.tables import ReportedCandidate

LEAST_POINTS = 8
"""Fewer measured points of a sweep say nothing of what matters."""


def importance(rows: Iterable[ReportedCandidate]) -> dict[str, float]:
    """Compute how much each parameter of a sweep matters to be among the fast points: shares that add up to 1.

    It is PED-ANOVA over the measured points. Empty where too few were measured, or nothing was varied.
    """
    points = [
        (row.iteration.point, log(row.over.ratio))
        for row in rows
        if row.iteration.point and row.over is not None and row.over.ratio > 0 and isfinite(row.over.ratio)
    ]
    names = set.intersection(*(set(point) for point, _ in points)) if points else set()
    values = {name: sorted({point[name] for point, _ in points}) for name in sorted(names)}
    varied = {name: found for name, found in values.items() if len(found) > 1}
    if len(points) < LEAST_POINTS or not varied:
        return {}
    import optuna  # half a second, and only for sweeps

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize")
    kinds = {name: optuna.distributions.CategoricalDistribution(found) for name, found in varied.items()}
    for point, value in points:
        chosen = {name: point[name] for name in kinds}
        study.add_trial(optuna.trial.create_trial(params=chosen, distributions=dict(kinds), value=value))
    found = optuna.importance.get_param_importances(study, evaluator=optuna.importance.PedAnovaImportanceEvaluator())
    return dict(found)
