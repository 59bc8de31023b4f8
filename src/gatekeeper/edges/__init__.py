"""Where the house meets the world: git, remotes, the forge, OpenSSH, the clock. Nobody else does."""
