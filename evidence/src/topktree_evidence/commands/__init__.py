"""The commands that plug into topktree's command line."""
