"""Topics that were deleted and created again since the last validation, by Kafka's topic ids. Pure."""

from components.contract.report import SAMPLES, Finding, TopicIds, note
from components.contract.wording import agreeing


def compared(before: TopicIds, now: TopicIds) -> int:
    """How many topics of both clusters the last published verdict knew."""
    return sum(len(ids.keys() & before.get(alias, {}).keys()) for alias, ids in now.items())


def recreated_findings(before: TopicIds, now: TopicIds) -> list[Finding]:
    """One note per cluster, which gives a cause. Other checks say whether records are missing or offsets are wrong."""
    found = []
    for alias, ids in now.items():
        known = before.get(alias, {})
        anew = sorted(topic for topic, each in ids.items() if known.get(topic, each) != each)
        if anew:
            what = agreeing(len(anew), "[was|were] deleted and created again")
            since = f"on {alias} since the last validation. Offsets from before belong to other records"
            found.append(note("topic-recreated", f"{', '.join(anew[:SAMPLES])} {what} {since}", len(anew)))
    return found
