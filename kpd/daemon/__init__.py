"""The process that owns a workspace: the event log, the socket, the watcher, and recovery."""
