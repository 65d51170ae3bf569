"""Builds prompts of blocks of text, ordered so that the service can cache what rarely changes.

`compose` makes the prompt of an iteration from its context, `shorter` takes away what can best be missed, `recorded` is
what stays of a prompt beside the iteration.
"""
