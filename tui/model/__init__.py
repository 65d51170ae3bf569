"""What the UI knows and shows: messages and answers of the daemon, folded into one frozen view."""
