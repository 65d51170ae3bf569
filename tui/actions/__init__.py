"""Actions of the UI as data: keys, when they are possible, what is asked before them, what they send."""
