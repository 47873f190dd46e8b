"""The daemon of the log and the bundle: under 2,000 lines, which a test counts."""
