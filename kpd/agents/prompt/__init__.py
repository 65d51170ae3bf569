"""Builds prompts of blocks of text, ordered so that the service can cache what rarely changes.

`compose` makes the prompt of an iteration from its context, `shorter` removes what matters least, `record` keeps the
sizes of a prompt with the iteration.
"""
