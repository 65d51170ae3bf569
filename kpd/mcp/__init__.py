"""kpd as tools for agents and their clients: a server of the Model Context Protocol on stdin and stdout."""
