"""The job's Kubernetes client: for Secrets that hold credentials, and for the published verdict."""

from pathlib import Path

from kubernetes import client, config

from components.contract.problems import CannotRunError


def api_client(kubeconfig: Path | None) -> client.ApiClient:
    """A client configured by `kubeconfig`, else by $KUBECONFIG or the usual file, else by the pod's service account."""
    try:
        configuration = client.Configuration()
        config.load_kube_config(str(kubeconfig) if kubeconfig else None, client_configuration=configuration)  # type: ignore[no-untyped-call]
        return client.ApiClient(configuration)
    except config.ConfigException:
        if kubeconfig is not None:
            raise CannotRunError(
                "kubeconfig-invalid",
                "not a usable kubeconfig",
                str(kubeconfig),
                "The job reads Secrets and publishes verdicts with it.",
                "give --kubeconfig a valid file.",
            ) from None
    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        raise CannotRunError(
            "kubeconfig-missing",
            "no kubeconfig and no service account",
            "environment",
            "The job reads Secrets and publishes verdicts through the Kubernetes API.",
            "set KUBECONFIG to a kubeconfig file. The job called by itself also takes `--kubeconfig FILE`.",
        ) from None
    return client.ApiClient(configuration)
