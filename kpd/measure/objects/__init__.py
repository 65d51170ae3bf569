"""Looks at the object that a compiler made of a candidate: what it calls, executes and holds."""
