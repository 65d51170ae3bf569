"""Who proposes: anything that turns a `Context` into a `Proposal`. The engine knows only the protocol in `agent`."""
