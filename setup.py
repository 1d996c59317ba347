"""Distributes the folders `components`, `infra` and `spark` below one package, `kafka_replication`."""

from setuptools import find_namespace_packages, setup

FOLDERS = ("components", "infra", "spark")
TOP = "components/package"

setup(
    packages=[
        "kafka_replication",
        *(
            f"kafka_replication.{name}"
            for name in find_namespace_packages(
                include=[f"{folder}*" for folder in FOLDERS], exclude=[TOP.replace("/", ".")]
            )
        ),
    ],
    package_dir={"kafka_replication": TOP, **{f"kafka_replication.{folder}": folder for folder in FOLDERS}},
)
