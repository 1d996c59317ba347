"""A driver pod that Spark created: what the job takes over from the submission, and what it refuses."""

from pathlib import Path

import pytest

from kafka_replication.components.render.validation_jobs import APPLICATION
from kafka_replication.spark import command_line, driver
from kafka_replication.spark.driver import main, session_options, stored_properties
from kafka_replication.spark.read.sessions import SessionOptions

#: As java.util.Properties stores them.
STORED = r"""#Java properties built from Kubernetes config map with name: spark-drv-8d6adca20efdea98-conf-map
#Tue Nov 24 19:17:31 UTC 2026
spark.app.id=spark-eceb928d3caf4e2a9ded79bab3033208
spark.driver.host=orders-validation-driver-svc.mirror-orders.svc
spark.driver.memory=1536m
spark.driver.port=7078
spark.kubernetes.container.image=registry.example.com/validation@sha256\:00
spark.kubernetes.driver.annotation.a\ b\=c=\ d\u00E9\\e\tf
spark.kubernetes.executor.label.app.kubernetes.io/part-of=orders
spark.kubernetes.submitInDriver=true
spark.master=k8s\://https\://10.96.0.1\:443
spark.submit.deployMode=cluster
spark.submit.pyFiles=
"""
SUBMITTED = ["driver", "--properties-file", "FILE", "--class", "org.apache.spark.deploy.PythonRunner"]


def test_properties_stored_by_java_are_read_unchanged() -> None:
    found = stored_properties(STORED)
    assert len(found) == 11
    assert found["spark.master"] == "k8s://https://10.96.0.1:443"
    assert found["spark.kubernetes.driver.annotation.a b=c"] == " dé\\e\tf"
    assert found["spark.submit.pyFiles"] == ""


@pytest.mark.parametrize("character", ["\x0b", "\x1c", "\x85", "\u2028"])
def test_only_a_line_feed_ends_a_property(character: str) -> None:
    """Java does not escape these characters: if they ended the line, the rest of the value would be lost."""
    assert stored_properties(f"spark.a=1{character}2\r\nspark.b=3\n") == {"spark.a": f"1{character}2", "spark.b": "3"}


def test_a_property_without_a_value_is_refused() -> None:
    with pytest.raises(ValueError, match="spark is not a property with its value"):
        stored_properties("spark")


def test_the_session_has_the_submitted_settings_and_the_address_of_the_pod() -> None:
    options = session_options(stored_properties(STORED), "10.0.0.7")
    assert (options.master, options.driver_memory, options.executor_pods) == (
        "k8s://https://10.96.0.1:443",
        "1536m",
        True,
    )
    assert options.conf["spark.driver.host"] == options.conf["spark.driver.bindAddress"] == "10.0.0.7"
    # The operator finds executors by such a label; the command line does not accept it as a setting.
    assert options.conf["spark.kubernetes.executor.label.app.kubernetes.io/part-of"] == "orders"
    assert not any(key.startswith("spark.submit") or "submitInDriver" in key for key in options.conf)


def test_the_job_gets_its_own_arguments_and_the_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spark.properties").write_text(STORED)
    seen: list[tuple[list[str] | None, SessionOptions | None]] = []
    begun: list[SessionOptions] = []

    def entry(argv: list[str] | None = None, session: SessionOptions | None = None) -> int:
        seen.append((argv, session))
        return 1

    monkeypatch.setattr(command_line, "entry", entry)
    monkeypatch.setattr(driver, "begin_jvm", begun.append)
    monkeypatch.setenv("SPARK_DRIVER_BIND_ADDRESS", "10.0.0.7")
    submitted = [str(tmp_path / "spark.properties") if each == "FILE" else each for each in SUBMITTED]
    assert main([*submitted, APPLICATION, "--flow", "orders"]) == 1, "the exit code is the job's"
    options = session_options(stored_properties(STORED), "10.0.0.7")
    assert (seen, begun) == ([(["--flow", "orders"], options)], [options])


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param([], id="nothing"),
        pytest.param(["executor"], id="an executor"),
        pytest.param([*SUBMITTED, "local:///opt/other.py"], id="another application"),
    ],
)
def test_arguments_that_do_not_start_the_validation_are_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    assert "Spark starts this in a driver pod that it has made for validate.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("stored", "address", "missing"),
    [(STORED, None, "SPARK_DRIVER_BIND_ADDRESS"), ("", "10.0.0.7", "spark.master")],
)
def test_a_setting_that_spark_did_not_pass_is_named_in_the_error(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    stored: str,
    address: str | None,
    missing: str,
) -> None:
    file = tmp_path / "spark.properties"
    file.write_text(stored)
    monkeypatch.delenv("SPARK_DRIVER_BIND_ADDRESS", raising=False)
    if address is not None:
        monkeypatch.setenv("SPARK_DRIVER_BIND_ADDRESS", address)
    assert main(["driver", "--properties-file", str(file), "--class", "C", APPLICATION]) == 2
    assert f"Spark did not set '{missing}'." in capsys.readouterr().err


def test_the_driver_runs_the_application_of_the_rendered_manifest() -> None:
    assert Path(APPLICATION).name == driver.APPLICATION
