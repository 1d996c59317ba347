"""The files and folders of a local stack. They are functions, because the command line chooses the project."""

from collections.abc import Callable
from pathlib import Path

from kafka_replication.infra.stack.project import local_folder


def _inside(*names: str) -> Callable[[], Path]:
    return lambda: local_folder().joinpath(*names)


#: The processes and ports of the stack; see state.py.
state_file = _inside("state.json")
#: Locked while the stack starts or stops.
lock_file = _inside("lock")
#: One log file for each process.
logs = _inside("logs")
#: The data of etcd and the brokers.
data = _inside("data")
#: The certificate authorities and the certificates that they issued.
certificates = _inside("certificates")
#: The configuration files of the API server.
control_plane = _inside("control-plane")
#: The kubeconfig of the API server's administrator.
kubeconfig = _inside("control-plane", "admin.kubeconfig")
#: The state of the stand-in for Strimzi's operator.
operator = _inside("operator")
#: The configuration of Prometheus, made from what is deployed.
prometheus = _inside("prometheus")
#: The project, state and passphrase of Pulumi's engine.
pulumi = _inside("pulumi")
#: The parameters and reports of the validation job, by stack.
validation = _inside("validation")
