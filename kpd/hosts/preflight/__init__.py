"""What a host is, what works on it and what does not: probed, tried, checked, and put on its card."""
