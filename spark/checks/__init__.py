"""The checks of a flow: each reads what it needs, decides with pure functions and returns one outcome."""
