"""kpd's own tools for agents: what they can ask and measure while they work, and for any client of `kpd mcp`."""
