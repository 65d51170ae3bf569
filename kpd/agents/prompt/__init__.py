"""What a model is told: blocks of text, ordered so that what rarely changes is read from the service's cache.

`compose` makes the prompt of an iteration from its context, `shorter` takes away what can best be missed, `recorded` is
what stays of a prompt beside the iteration.
"""
