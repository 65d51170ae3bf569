"""Agents propose candidates: a `Context` in, a `Proposal` out. The engine knows only the protocol in `agent`."""
