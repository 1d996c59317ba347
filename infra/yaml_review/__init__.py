"""Reviews a change to a folder of Strimzi's YAML that no topology stands behind: `replicate review --yaml`."""
