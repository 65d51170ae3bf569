"""The transport over the OpenSSH client: a session in a master connection."""
