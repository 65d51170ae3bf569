"""A GPU played back: the programs that kpd runs on a GPU host, each answering from a recording of its real answers."""
