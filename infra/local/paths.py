"""The files and folders of a local stack. They are functions, because the command line chooses the project."""

from collections.abc import Callable
from pathlib import Path

from infra.stack.project import local_folder


def _inside(*names: str) -> Callable[[], Path]:
    return lambda: local_folder().joinpath(*names)


state_file = _inside("state.json")
"""The processes and ports of the stack; see state.py."""
lock_file = _inside("lock")
"""Locked while the stack starts or stops."""
logs = _inside("logs")
"""One log file for each process."""
data = _inside("data")
"""The data of etcd and the brokers."""
certificates = _inside("certificates")
"""The certificate authorities and the certificates that they issued."""
control_plane = _inside("control-plane")
"""The configuration files of the API server."""
kubeconfig = _inside("control-plane", "admin.kubeconfig")
"""The kubeconfig of the API server's administrator."""
operator = _inside("operator")
"""The state of the stand-in for Strimzi's operator."""
prometheus = _inside("prometheus")
"""The configuration of Prometheus, made from what is deployed."""
pulumi = _inside("pulumi")
"""The project, state and passphrase of Pulumi's engine."""
validation = _inside("validation")
"""The parameters and reports of the validation job, by stack."""
