"""Doors parse, make one call and answer; the rules live in the core."""
