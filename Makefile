# Everything runs in .venv, which is installed from the hashes in requirements.txt.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help setup demo quick slow test check format bench bench-mirror alerts monitoring drills keeper schema reference site dist image image-bench model faults properties matrix lock touched-stacks review environments promote drift

# Recipes read these, ENVIRONMENT, TO, STACKS, FAULTS, MONITORING, SIZE and those of `matrix` as environment
# variables, so that neither make nor a shell runs what a value contains.
BASE ?= origin/main
OUT ?= review
export BASE OUT

# Images often set it. Every Python process of the tests, workers included, would compile the project once more.
export PYTHONDONTWRITEBYTECODE :=

help:
	@echo "make demo    set everything up, replicate between two local regions and prove it"
	@echo "make quick   run the tests that start no process, in a few minutes"
	@echo "make test    run all tests: the quick ones first, then the others on local stacks"
	@echo "make slow    run the tests that start processes"
	@echo "make check   format, lint and types"
	@echo "make review  review a change of the stacks it touches: BASE=origin/main OUT=review"
	@echo "make promote deploy stack by stack in the order of stacks/promotion.yaml: ENVIRONMENT=… TO=…"
	@echo "make drift   compare the clusters with the stacks: STACKS=…"
	@echo "make bench-mirror  measure what MirrorMaker 2 carries over a round trip: infra/NUMBERS.md"
	@echo "make bench   measure checks, deployments and validation: SIZE=--records=1000000"
	@echo "make reference  write the reference pages: commands, keys, alerts, series, problem codes"
	@echo "make site    build the pages as a site with a search, into .local/site"
	@echo "make dist    build what is released of the last commit into dist/: twice, compared and checked"
	@echo "make image   build the image of the validation job with docker, podman or buildah: IMAGE_BASE=NAME@sha256:… FLAGS=…"
	@echo "make alerts  let promtool judge the alerts of a flow"
	@echo "make monitoring  make faults on running flows and print which alerts a real Prometheus raises"
	@echo "make matrix  try supported versions: STRIMZI=CLONE KAFKA='4.2.0 4.3.1' PYTHONS=… PULUMI=… SPARK=…"
	@echo "make drills  fail over and back each shape of flow on the local stack, adopt plain YAML under traffic, and count"
	@echo "make keeper  kill keepers under traffic, lose sources beside them, and measure their positions"
	@echo "make model   look for a wrong verdict in 10,000 random histories each of partitions, flows and pairs"
	@echo "make faults  make faults on running flows and print what the validation says of each: FAULTS='--only acl'"

setup: $(READY)

$(READY): requirements.txt pyproject.toml setup.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "$(PYTHON) is older than Python 3.11; run: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)" >&2; exit 2; }
	$(PYTHON) -m venv $(VENV)
	@echo "installing the pinned requirements (a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@# Type checkers and editors do not ask the import system: they find the package by links of its name.
	@$(BIN)/python -c "from kafka_replication.infra.machine.paths import link_package; link_package('.', '$(VENV)/src')"
	@touch $(READY)

demo: $(READY)
	@$(BIN)/replicate local demo

# One process for each of two cores: these tests never wait.
quick: $(READY)
	$(BIN)/python -m pytest -q -n 2 -m "not process" --durations=10

# A mistake that `quick` finds ends the run within minutes; `make -k test` goes on.
test: quick slow

.NOTPARALLEL:

# Three processes with a local stack each, because their tests mostly wait, and one for tests that need none.
slow: $(READY)
	$(BIN)/python -m pytest -v -n 4 -m process --durations=40

check: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: $(READY)
	$(BIN)/python -m tests.bench.checks
	$(BIN)/python -m tests.bench.review
	$(BIN)/python -m tests.bench.engine
	$(BIN)/python -m tests.bench.positions
	$(BIN)/python -m tests.bench.exporter
	$(BIN)/python -m tests.bench.look
	REPLICATE_LOCAL=.local/bench $(BIN)/python -m tests.bench.size $$SIZE

bench-mirror: $(READY)
	REPLICATE_LOCAL=.local/mirror $(BIN)/python -m tests.bench.mirror --latency --held-back $$MIRROR

drills: $(READY)
	REPLICATE_LOCAL=.local/drills $(BIN)/python -m tests.bench.drills
	REPLICATE_LOCAL=.local/adoption $(BIN)/python -m tests.bench.adoption

keeper: $(READY)
	REPLICATE_LOCAL=.local/keeper $(BIN)/python -m tests.bench.keeper_kills
	REPLICATE_LOCAL=.local/keeper $(BIN)/python -m tests.bench.keeper_disaster
	REPLICATE_LOCAL=.local/keeper $(BIN)/python -m tests.bench.keeper_age

alerts: $(READY)
	$(BIN)/python -m tests.bench.alerts

monitoring: $(READY)
	$(BIN)/python -m tests.bench.monitoring $$MONITORING

# Writes infra/SUPPORT.md. STRIMZI needs a clone of Strimzi's repository with its tags; KAFKA and PULUMI run local stacks.
matrix: $(READY)
	@$(BIN)/python -m tests.bench.matrix

model: $(READY)
	$(BIN)/python -m tests.bench.model

faults: $(READY)
	@$(BIN)/python -m tests.bench.faults $$FAULTS

touched-stacks: $(READY)
	@$(BIN)/replicate touched --against "$$BASE"

review: $(READY)
	@$(BIN)/replicate review --against "$$BASE" --out "$$OUT"

environments: $(READY)
	@$(BIN)/replicate environments

promote: $(READY)
	@$(BIN)/replicate promote --yes $${ENVIRONMENT:+--environment "$$ENVIRONMENT"} $${TO:+--to "$$TO"}

# Prints markdown for a job's summary. Exits with 1 if anything differs.
drift: $(READY)
	@$(BIN)/replicate diff $$STACKS --against cluster --markdown --fail-on none

schema: $(READY)
	$(BIN)/replicate schema

# The pages and tables of reference that the code knows. A test fails while one is stale.
reference: $(READY)
	$(BIN)/python -m tests.reference

# In an environment of its own; `make lock` writes its requirements.
site:
	@$(PYTHON) -m venv .local/mkdocs
	@.local/mkdocs/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r .github/site-requirements.txt
	@NO_MKDOCS_2_WARNING=1 .local/mkdocs/bin/mkdocs build --strict --config-file .github/mkdocs.yml
	@echo "To read and search the site, run: python3 -m http.server --bind 127.0.0.1 --directory .local/site"

dist: $(READY)
	@$(BIN)/python -m tests.release

image: $(READY)
	@$(BIN)/python -m tests.image

image-bench: $(READY)
	REPLICATE_LOCAL=.local/image $(BIN)/python -m tests.bench.image

# Needs Maven and a JDK. Run it after changing a Kafka version in infra/machine/versions.py.
properties: $(READY)
	$(BIN)/python -m tests.contract.property_definitions
	$(BIN)/python -m tests.contract.worker_template

# Needs uv. Run it after changing a requirement in pyproject.toml.
lock:
	uv pip compile pyproject.toml --extra all --extra dev --generate-hashes --universal --python-version 3.11 --no-header -o requirements.txt
	echo mkdocs-material | uv pip compile - --generate-hashes --universal --python-version 3.11 --no-header -o .github/site-requirements.txt
	$(BIN)/python -m tests.job_image
