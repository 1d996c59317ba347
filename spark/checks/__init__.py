"""The checks of a flow: each reads what it needs, decides by pure functions and answers one outcome."""
