"""What operators do: checks, and later erasure, audit and export."""
