"""Tasks that bring their own benchmark: run in fresh copies on a host, in pairs, and read by what they print."""
