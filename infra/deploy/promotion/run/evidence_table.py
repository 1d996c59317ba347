"""The evidence of a stack, as `replicate promote` prints it."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.deploy.promotion.rule.evidence import Evidence
from infra.deploy.promotion.rule.plan import evidence_name
from infra.deploy.promotion.rule.rules import PASS


def print_evidence(evidence: Evidence, namespace: str, console: Console) -> None:
    """Print the evidence and where it is recorded."""
    table = Table("flow", "check", "verdict", "finding", title=f"evidence of {escape(evidence.stack)}")
    for name, flow in evidence.flows.items():
        for title, check in flow.proof.checks.items():
            color = "green" if check.verdict == PASS else "red"
            table.add_row(name, title, f"[{color}]{check.verdict}[/]", escape(check.summary))
        if not flow.proof.checks:
            table.add_row(name, "", f"[red]{flow.proof.verdict}[/]", "the job could not run; see the report")
    console.print(table)
    lines = {
        "verdict": evidence.verdict,
        "model": evidence.model_digest,
        "deployed": f"{evidence.deployed_at:%Y-%m-%d %H:%M:%S %Z}",
        "validated": f"{evidence.validated_at:%Y-%m-%d %H:%M:%S %Z}",
        "proven since": f"{evidence.proven_since:%Y-%m-%d %H:%M:%S %Z}" if evidence.proven_since else "not proven",
        "who": evidence.who,
        "kept in": f"configmap {namespace}/{evidence_name(evidence.stack)}",
    }
    if evidence.allow_unproven is not None:
        lines["unproven because"] = evidence.allow_unproven
    for what, value in lines.items():
        console.print(f"  {what:<17}{escape(value)}", soft_wrap=True)
