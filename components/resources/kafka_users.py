"""KafkaUsers: the component for the replications' users of a region's clusters."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from components.checks import check_topology
from components.contract.problems import ReplicationError, raise_errors
from components.flows.resolved import missing_config
from components.render.kafka_users import kafka_user_objects
from components.render.planned_objects import ObjectRole
from components.resources.registration import known_output, register_object
from components.topology.model import Topology


@dataclass(frozen=True, kw_only=True)
class KafkaUsersArgs:
    """The whole topology, since every flow adds to a user's ACLs. `region` selects clusters (all without it).

    `secrets` maps the keys of passwords that the clusters declare as `{config: KEY}` to their values.
    """

    topology: Topology
    region: str | None = None
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)


class KafkaUsers(pulumi.ComponentResource):
    """KafkaUsers for Strimzi's User Operator, with the minimal ACLs of all flows that log in as them.

    `outputs` maps each cluster's alias to the name of its user. Raises ReplicationError with every problem before
    anything is registered.
    """

    outputs: pulumi.Output[dict[str, str]]

    def __init__(self, name: str, args: KafkaUsersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        raise_errors(check_topology(args.topology))
        objects = kafka_user_objects(args.topology, args.region)
        missing = {key for planned in objects for key in planned.secret_values.values()} - set(args.secrets)
        if missing:
            raise ReplicationError(missing_config("clusters", key, secret=True) for key in missing)
        super().__init__("replication:kafka:Users", name, None, opts)
        passwords: dict[str, pulumi.Resource] = {}
        users: dict[str, str] = {}
        for planned in objects:
            # Without the Secret of its password the operator reports a user as NotReady.
            earlier = [passwords[planned.part]] if planned.part in passwords else []
            options = pulumi.ResourceOptions(parent=self, depends_on=earlier)
            resource = register_object(f"{name}-{planned.key}", planned, args.secrets, options)
            if planned.role is ObjectRole.KAFKA_USER_PASSWORD:
                passwords[planned.part] = resource
            else:
                users[planned.part] = planned.name
        self.outputs = known_output(users)
        self.register_outputs({"users": users})
