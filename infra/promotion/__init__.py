"""Promotion: from which stack to which a model goes, what has to be proven before, and the run that does it."""
