"""What the report says in words about a shape, beside what it found. Pure."""

from spark.parameters import FlowParameters


def advice(flow: FlowParameters) -> tuple[str, ...]:
    """Sentences for whoever relies on the flow; none where the checks say it all."""
    if flow.shape != "prefixlessPair":
        return ()
    source, target = flow.source.alias, flow.target.alias
    return (
        f"Consumer offsets are not translated: in a prefixless pair a topic of {target} holds its own records between "
        f"those of {source}, so that an offset of {source} names another record there. Neither checkpoints nor group "
        "offsets are written, and none must be copied by hand.",
        f"A group that fails over to {target} and has consumed there before starts from its own committed offset on "
        f"{target}. It skips nothing; what it has consumed on {source} since then it reads again.",
        f"A group without an offset on {target} seeks by timestamp: replicated records keep the time of {source}, so "
        "take the time of the oldest record that it had not finished, and an allowance for clocks. Without such a time "
        "it starts at the earliest offset; the latest would skip what has arrived already.",
        "Either way records may be read again: consumers must bear that.",
    )
