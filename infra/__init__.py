"""The Pulumi program, the `replicate` command line and the local stack."""
