"""Makes objects that run already those of a stack: `replicate adopt`."""
