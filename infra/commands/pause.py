"""The command `replicate pause`."""

from infra.commands.intervention import halt

pause = halt(
    "paused",
    "Pause connectors of a flow for a while: tasks stay assigned and read nothing. Nothing resumes by itself.",
)
