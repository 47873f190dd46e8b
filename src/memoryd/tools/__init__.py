"""Every tool of an agent, defined once, whoever offers it."""
