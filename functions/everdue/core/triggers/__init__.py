"""When a schedule runs: one trigger a file."""
