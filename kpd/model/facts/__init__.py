"""Facts that `fold`, `iterating` and `rebasing` apply, one module per subject; `kpd.model.events` has all facts."""
