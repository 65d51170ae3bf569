"""What lies on disk: where things are, the config, the task contract, run folders."""
