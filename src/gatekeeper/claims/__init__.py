"""Claims: the blob's codec, the names of their refs, and what a task's history of them says. CONTRACT 3."""
