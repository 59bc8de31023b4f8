"""The container action: an Actions environment and event in, a verdict and its outputs out.

`inputs.py` and `event.py` read what a workflow gives, `run.py` fetches and asks the gate,
`outputs.py` tells GitHub what came of it.
"""
