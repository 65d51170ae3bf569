"""Files of a workspace: paths, config, tasks, run folders."""
