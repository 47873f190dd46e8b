"""The search engine: words and vectors over the chunks of the log; knows no events and no HTTP."""
