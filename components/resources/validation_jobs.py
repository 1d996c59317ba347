"""ValidationJobs: the component for what runs the validation job in the cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pulumi

from components.contract.spark_conf import NO_SETTINGS, SparkSettings
from components.flows.resolved import ResolvedFlow
from components.render.planned_objects import waits
from components.render.validation_jobs import RUNS_ONCE, validation_objects
from components.resources.registration import known_output, register_object
from components.topology.in_cluster import InCluster

#: The provider would wait until the Job has ended, and report a failed deployment if the validation does not pass.
_NO_WAITING = {"pulumi.com/skipAwait": "true"}


@dataclass(frozen=True, kw_only=True)
class ValidationJobsArgs:
    """A stack's checked flows, and how its file asks for their validation.

    `spark` are the job's settings of Spark. `after` maps the name of each replication to its
    component: a Job begins when everything that it validates exists.
    """

    flows: Sequence[ResolvedFlow]
    stack: str
    in_cluster: InCluster
    spark: SparkSettings = NO_SETTINGS
    after: Mapping[str, pulumi.Resource] = field(default_factory=dict)


class ValidationJobs(pulumi.ComponentResource):
    """A Job that validates each flow after a deployment, and a CronJob that validates it between deployments.

    Either may be the Spark operator's equivalent. `outputs` maps the name of each flow to that of its Job.
    """

    outputs: pulumi.Output[dict[str, str]]

    def __init__(self, name: str, args: ValidationJobsArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("replication:kafka:ValidationJobs", name, None, opts)
        planned = validation_objects(args.flows, args.stack, args.in_cluster, args.spark)
        # A verdict from before the last change in its namespace is too old, so a Job waits for all flows there.
        beside: dict[str, dict[str, pulumi.Resource]] = {}
        for flow in args.flows:
            if (replication := args.after.get(flow.expanded.replication)) is not None:
                beside.setdefault(flow.namespace, {})[flow.expanded.replication] = replication
        namespaces = {flow.name: flow.namespace for flow in args.flows}
        jobs: dict[str, str] = {}
        for name_of_flow in dict.fromkeys(each.part for each in planned):
            own = [each for each in planned if each.part == name_of_flow]
            registered: dict[str, pulumi.Resource] = {}
            earlier, replications = waits(own), beside.get(namespaces[name_of_flow], {})
            for each in own:
                after = [registered[key] for key in earlier[each.key]]
                after += replications.values()
                options = pulumi.ResourceOptions(parent=self, depends_on=after)
                shown = each
                if each.kind in RUNS_ONCE:
                    jobs[name_of_flow] = each.name
                    shown = each.annotated(_NO_WAITING)
                registered[each.key] = register_object(f"{name}-{each.key}", shown, {}, options)
        self.outputs = known_output(jobs)
        self.register_outputs({"jobs": jobs})
