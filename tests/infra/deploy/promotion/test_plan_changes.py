"""A plan that asks for less proof is reported as gravely as the records that could then be lost."""

from typing import Any

import pytest
import yaml

from kafka_replication.components.changes.effect import Impact
from kafka_replication.components.topology.parsing import parse_model
from kafka_replication.infra.deploy.promotion.rule.plan import PromotionPlan, plan_effects
from kafka_replication.infra.review.advice import ADVICE

PLAN: dict[str, Any] = yaml.safe_load(
    """
    environments:
      - name: staging
        waves: [{stacks: [staging], soakMinutes: 1440}]
      - name: prod
        maySkip: [ann]
        waves:
          - {stacks: [west], soakMinutes: 60}
          - {stacks: [east]}
    """
)


def changed(**changes: Any) -> PromotionPlan:
    """The plan with values replaced; `__` separates the parts of a path."""
    plan = yaml.safe_load(yaml.safe_dump(PLAN))
    for path, value in changes.items():
        *above, last = (int(part) if part.isdigit() else part for part in path.split("__"))
        here: Any = plan
        for part in above:
            here = here[part]
        here[last] = value
    return parse_model(PromotionPlan, plan)


WEST_THEN_EAST = "environments__1__waves"


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        pytest.param(changed(), changed(), [], id="nothing"),
        pytest.param(
            changed(),
            changed(environments__0__waves__0__soakMinutes=0),
            [
                "data soak-time-shorter: the next wave follows 0 minutes after the proof of `staging`, instead of 1440 "
                "minutes: what shows only after that time reaches it, too"
            ],
            id="no soak time",
        ),
        pytest.param(
            changed(),
            changed(environments__1__waves__0__soakMinutes=90.5),
            [
                "none soak-time-changes: the next wave follows 90.5 minutes after the proof of `west`, instead of 60 "
                "minutes"
            ],
            id="a longer soak time",
        ),
        pytest.param(
            changed(environments__1__waves__1__soakMinutes=60),
            changed(),
            [
                "none soak-time-changes: the next wave follows 0 minutes after the proof of `east`, instead of 60 "
                "minutes; there is no next wave"
            ],
            id="the soak time of the last wave",
        ),
        pytest.param(
            changed(),
            changed(environments__1__maySkip=["bob", "ann"]),
            ["data may-skip-added: `bob` may deploy an unproven model to `prod` with `--skip`"],
            id="one more may skip",
        ),
        pytest.param(
            changed(),
            changed(environments__1__maySkip=[]),
            ["none may-skip-removed: `ann` may no longer deploy an unproven model to `prod`"],
            id="nobody may skip",
        ),
        pytest.param(
            changed(),
            changed(**{WEST_THEN_EAST: [{"stacks": ["east"]}, {"stacks": ["west"], "soakMinutes": 60}]}),
            [
                "none promotion-order-changes: `west` now waits for the proof of `east`",
                "data promotion-order-changes: `east` no longer waits for the proof of `west`",
            ],
            id="another order",
        ),
        pytest.param(
            changed(),
            changed(**{WEST_THEN_EAST: [{"stacks": ["west", "east"], "soakMinutes": 60}]}),
            [
                "data promotion-order-changes: `east` no longer waits for the proof of `west`",
                "none soak-time-changes: the next wave follows 60 minutes after the proof of `east`, instead of 0 "
                "minutes",
            ],
            id="two waves become one",
        ),
        pytest.param(
            changed(),
            changed(**{WEST_THEN_EAST: [{"stacks": ["west"], "soakMinutes": 60}, {"stacks": ["north"]}]}),
            [
                "data stack-leaves-promotion: `replicate promote` no longer deploys `east`, and no stack waits for "
                "its proof any more",
                "none stack-joins-promotion: `replicate promote` deploys `north`",
            ],
            id="a stack leaves, another joins",
        ),
        pytest.param(
            changed(),
            changed(evidenceNamespace="other"),
            [
                "none evidence-moves: evidence is recorded in `other` instead of `replication-evidence`, where nothing "
                "is recorded yet: every stack has to be proven again before the next one may follow"
            ],
            id="another namespace",
        ),
        pytest.param(
            None,
            changed(),
            ["none promotion-plan-added: stacks are promoted in this order: `staging`, `west`, `east`"],
            id="a new plan",
        ),
        pytest.param(
            changed(),
            None,
            [
                "data promotion-plan-removed: no stack waits for the proof of another any more: `staging`, `west`, "
                "`east`"
            ],
            id="no plan",
        ),
    ],
)
def test_a_change_of_the_plan_has_effects(
    before: PromotionPlan | None, after: PromotionPlan | None, found: list[str]
) -> None:
    effects = list(plan_effects(before, after))
    assert [f"{effect.severity} {effect.code}: {effect.what}" for effect in effects] == found
    assert {effect.code for effect in effects if effect.severity is Impact.DATA} <= set(ADVICE)
    assert all(effect.where.startswith("promotion.yaml: ") for effect in effects)
