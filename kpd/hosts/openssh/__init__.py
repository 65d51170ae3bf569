"""The transport over the OpenSSH client: a session in the connection of a master."""
