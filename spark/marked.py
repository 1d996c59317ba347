"""Records of a guarded flow with a mark that no guard appended. They never cross, and nothing else shows that."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from spark.guards import ASIDE, COMPARED, LOOPED, SOURCE, TARGET
from spark.pairing import summed

MARKED_ON_SOURCE, MARKED_ON_TARGET, WENT_ROUND = "marked-on-source", "marked-on-target", "went-round"


def marked_elsewhere(digests: DataFrame, logs: DataFrame) -> DataFrame:
    """Records with a mark, by kind, as `pairing.differences` has them: key topic, partition, kind.

    `logs` has topic, partition, source_start and target_start, the starts of both logs. Records from before the first
    one that both sides hold are left out if the other side has removed records. The kinds:

    - marked-on-source: it carries the mark of the target, which has no such record
    - marked-on-target: it carries both marks, but the source has not received it from the target
    - went-round: it carries both marks, because it went from the target to the source and back
    """
    source, target = F.col("side") == SOURCE, F.col("side") == TARGET
    came, has = source & (F.col("role") == ASIDE), target & F.col("role").isin(ASIDE, COMPARED)
    same, whole = Window.partitionBy("topic", "partition", "digest"), Window.partitionBy("topic", "partition")
    marked = (
        digests.withColumn("came", came)
        .withColumn("both_marks", target & (F.col("role") == LOOPED))
        .where(F.col("came") | has | F.col("both_marks"))
        .withColumn("on_source", F.max("came").over(same))
        .withColumn("on_target", F.max(has).over(same))
        .withColumn("first", F.min(F.when(F.col("came") & F.col("on_target"), F.col("offset"))).over(whole))
        .join(F.broadcast(logs), on=["topic", "partition"], how="left")
    )
    # Records arrive from the target in its order, so the target still holds the originals of those after the first.
    held = (F.col("target_start") == 0) | (F.col("offset") > F.col("first"))
    kind = (
        F.when(F.col("came") & ~F.col("on_target") & held, MARKED_ON_SOURCE)
        .when(F.col("both_marks") & (F.col("on_source") | (F.col("source_start") > 0)), WENT_ROUND)
        .when(F.col("both_marks"), MARKED_ON_TARGET)
    )
    named = marked.withColumn("kind", kind).where(F.col("kind").isNotNull())
    return summed(named.select("topic", "partition", "kind", "offset", "time_ms", "digest"))
