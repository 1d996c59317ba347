"""The Kubernetes API client of the job: for Secrets that hold credentials and for the published verdict."""

from pathlib import Path

from kubernetes import client, config

from spark.errors import CredentialError


def api_client(kubeconfig: Path | None) -> client.ApiClient:
    """A client by `kubeconfig`, else $KUBECONFIG or the usual file, else the pod's own service account."""
    try:
        configuration = client.Configuration()
        config.load_kube_config(str(kubeconfig) if kubeconfig else None, client_configuration=configuration)  # type: ignore[no-untyped-call]
        return client.ApiClient(configuration)
    except config.ConfigException:
        if kubeconfig is not None:
            raise CredentialError(
                "kubeconfig-invalid", "not a usable kubeconfig", str(kubeconfig), "give --kubeconfig a valid file"
            ) from None
    configuration = client.Configuration()
    try:
        config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]
    except config.ConfigException:
        raise CredentialError(
            "kubeconfig-missing", "no kubeconfig and no service account", "environment", "give --kubeconfig FILE"
        ) from None
    return client.ApiClient(configuration)
