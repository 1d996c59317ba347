"""Reviews a change to a folder of Strimzi's YAML without a topology: `replicate review --yaml`."""
