"""What a change of a stack would do, object by object and to replication: `replicate diff`.

Needs neither a cluster nor Pulumi. `bases` finds what to compare with, `snapshots` reads either side, `objects`
compares objects, `comparison` adds the effects, and the reports only print.
"""
