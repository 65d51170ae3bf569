"""The acts that there are, as data: their keys, when they can be taken, what is asked before them, what they send."""
