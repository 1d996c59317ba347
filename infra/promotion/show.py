"""Evidence as text for people."""

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from infra.promotion.evidence import Evidence
from infra.promotion.plan import evidence_name
from infra.promotion.rules import PASS


def print_evidence(evidence: Evidence, namespace: str, console: Console) -> None:
    """Print what was recorded, and where."""
    table = Table("flow", "check", "verdict", "what was seen", title=f"evidence of {escape(evidence.stack)}")
    for name, flow in evidence.flows.items():
        for check, verdict in flow.checks.items():
            color = "green" if verdict == PASS else "red"
            table.add_row(name, check, f"[{color}]{verdict}[/]", escape(flow.summaries.get(check, "")))
        if not flow.checks:
            table.add_row(name, "", f"[red]{flow.verdict}[/]", "the job itself could not run; see the report")
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
