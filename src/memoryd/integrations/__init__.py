"""Agent frameworks over the client, a file each; nothing here is loaded unless it is imported."""
