"""The transport over SSH in this process: asyncssh for the protocol, the rest like OpenSSH."""
