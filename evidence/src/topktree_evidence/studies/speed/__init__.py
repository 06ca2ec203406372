"""Speed: topktree against its peers."""
