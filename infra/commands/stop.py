"""The command `replicate stop`."""

from infra.commands.intervention import halt

stop = halt(
    "stopped",
    "Stop connectors of a flow for a while: their tasks end, and offsets can be changed. Nothing resumes by itself.",
)
