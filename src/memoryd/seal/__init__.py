"""Sealing what is `high`: the cipher, the master key, rows that come opened, keys of tenants."""
