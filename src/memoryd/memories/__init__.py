"""Facts, places, core and journal: what is remembered, as views of the log."""
