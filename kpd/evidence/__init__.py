"""Evidence bundles: a run as one archive, and the derivation of all its verdicts from the samples in it."""
