"""What is known and what is looked at: heard from the daemon, asked of it, and folded into one frozen view."""
