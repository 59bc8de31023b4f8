"""gatekeeper: the wall between coding agents' pull requests and the base branch."""

__version__ = "0.1.0"
