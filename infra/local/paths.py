"""The files and folders of a local stack. Functions, because the command line chooses the project."""

from pathlib import Path

from infra.project import local_folder


def state_file() -> Path:
    """The processes and ports of the stack; see state.py."""
    return local_folder() / "state.json"


def lock_file() -> Path:
    """Locked while the stack starts or stops."""
    return local_folder() / "lock"


def logs() -> Path:
    """One log file for each process."""
    return local_folder() / "logs"


def data() -> Path:
    """The data of etcd and the brokers."""
    return local_folder() / "data"


def certificates() -> Path:
    """The certificate authorities and the certificates that they issued."""
    return local_folder() / "certificates"


def control_plane() -> Path:
    """The configuration files of the API server."""
    return local_folder() / "control-plane"


def kubeconfig() -> Path:
    """The kubeconfig of the API server's administrator."""
    return control_plane() / "admin.kubeconfig"


def operator() -> Path:
    """The state of the stand-in for Strimzi's operator."""
    return local_folder() / "operator"


def pulumi() -> Path:
    """The project, state and passphrase of Pulumi's engine."""
    return local_folder() / "pulumi"


def validation() -> Path:
    """The parameters and reports of the validation job, by stack."""
    return local_folder() / "validation"
