"""Says what a change does to objects and to replication: `replicate diff` and `replicate review`.

A comparison needs neither a cluster nor Pulumi: `bases` finds what to compare with, `snapshots` reads both sides,
`object_changes` compares objects, `comparison` adds the effects, and the reports only print. `live_comparison` compares
with a cluster and only reads from it. `yaml` imports both sides of a folder of YAML and compares them as stacks are.
"""
