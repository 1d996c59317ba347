"""KafkaUsers: the replications' users of a region's clusters as one component."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi

from components.checks import check_topology
from components.flow import known_output, register_object
from components.model import Topology
from components.problems import ReplicationError, raise_errors
from components.resolved import missing_config
from components.specs.kafka_users import kafka_user_objects
from components.specs.planned import Role


@dataclass(frozen=True, kw_only=True)
class KafkaUsersArgs:
    """The whole topology, as a user's ACLs come from every flow; `region` chooses clusters, all without it.

    `secrets` holds the passwords that the clusters name as `{config: KEY}`.
    """

    topology: Topology
    region: str | None = None
    secrets: Mapping[str, pulumi.Input[str]] = field(default_factory=dict, repr=False)


class KafkaUsers(pulumi.ComponentResource):
    """KafkaUsers for Strimzi's User Operator, with the least ACLs of all flows that log in as them.

    `outputs` tells the name of each cluster's user by the cluster's alias. Raises ReplicationError with every problem
    before anything is registered.
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
            # The operator calls a user without its password's Secret NotReady, and names are plain values.
            earlier = [passwords[planned.part]] if planned.part in passwords else []
            options = pulumi.ResourceOptions(parent=self, depends_on=earlier)
            resource = register_object(f"{name}-{planned.key}", planned, args.secrets, options)
            if planned.role is Role.KAFKA_USER_PASSWORD:
                passwords[planned.part] = resource
            else:
                users[planned.part] = planned.name
        self.outputs = known_output(users)
        self.register_outputs({"users": users})
