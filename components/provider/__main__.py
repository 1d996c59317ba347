"""What Pulumi runs as the plugin `kafka-replication`; its arguments are the engine's."""

import sys

from pulumi.provider.server import main

from kafka_replication.components.provider.host import Host

if __name__ == "__main__":
    main(Host(), sys.argv[1:])
