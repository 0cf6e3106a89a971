# Stackwright's targets. `make help` lists them.

VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest
PURE := tests/unit tests/golden tests/scenario
# One process per core; an idle process takes tests of another.
PARALLEL := -n auto --dist worksteal

.DEFAULT_GOAL := help
# `tools` is also a folder.
.PHONY: tools helm server help cloud down test lint unit sweep functional e2e e2e-all durations golden bench bench-docs mutants docs dist clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

cloud: $(VENV)/ok ## Start Kubernetes and a cloud on this machine, and verify that it works
	$(BIN)/stackwright up $(if $(CLOUD),--file $(CLOUD))

down: $(VENV)/ok ## Stop the cloud and clean up the machine; data is kept
	$(BIN)/stackwright down

test: $(VENV)/ok ## Run everything that CI runs: style, types, tests, the core of the end-to-end tests and one or two packs
	$(BIN)/python tools/suite.py test

lint: $(VENV)/ok ## Style and types
	$(BIN)/ruff format --check src tests bench tools
	$(BIN)/ruff check src tests bench tools
	$(BIN)/mypy

unit: $(VENV)/ok helm ## Pure tests: unit, golden, scenario; no cluster; every third test of slow files
	$(PYTEST) -q --timeout=600 $(PARALLEL) -p tests.rotation $(PURE)

sweep: $(VENV)/ok helm ## All of them, with all cases of each sweep and new examples of each property
	SWEEP=all $(PYTEST) -q --timeout=900 $(PARALLEL) --hypothesis-profile=search $(PURE)

functional: $(VENV)/ok server ## Tests against a real kube-apiserver
	$(PYTEST) -q --timeout=600 --ignore=tests/functional/rotating tests/functional

e2e: $(VENV)/ok ## The core of the end-to-end tests on the local cluster; PACK=servers: that pack
	$(BIN)/python tools/suite.py e2e $(PACK)

e2e-all: $(VENV)/ok ## All tests: every case of the pure ones, the core, all packs
	$(BIN)/python tools/suite.py all

durations: $(VENV)/ok ## Show the durations of the last tests, by step, and the slowest ones
	@$(BIN)/python tools/suite.py durations

golden: $(VENV)/ok ## Regenerate golden files and CRDs, to be reviewed as a diff
	$(BIN)/stackwright crds --dir charts/stackwright/files/crds
	UPDATE_GOLDEN=1 $(PYTEST) -q $(PURE)

bench: $(VENV)/ok ## Print performance figures
	$(BIN)/python -m bench

bench-docs: $(VENV)/ok ## Regenerate the page of figures from the stored runs
	$(BIN)/python -m bench.store

mutants: $(VENV)/ok tools ## Change the code in small ways and count undetected changes; N=200 SEED=1 tries a sample
	nice -n 19 $(BIN)/python tools/mutants.py $(or $(N),0) $(or $(SEED),0)

docs: $(VENV)/ok ## Regenerate the reference pages and the ConfigMap for Argo CD
	$(BIN)/python tools/docs.py
	$(BIN)/python tools/argocd.py

dist: $(VENV)/ok ## Build what a release publishes into dist/; URL=https://...: where its archives will be
	$(BIN)/python tools/release.py $(URL)

clean: ## Delete build results of this checkout (the caches remain)
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist out

BUILD = $(BIN)/python -c "import sys; from stackwright.local import tools, config; \
	tools.build_all(config.LocalCluster.discover(), print, sys.argv[1:])"

# Requirements of the pure tests.
helm: $(VENV)/ok
	@$(BUILD) helm

# Requirements of the functional tests: an API server, and the programs that use it.
server: $(VENV)/ok
	@$(BUILD) etcd kubernetes helm ingress

# All programs that are built from source, once; later they are in the cache.
tools: $(VENV)/ok
	@$(BUILD)

# In Debian, ensurepip is a separate package.
$(VENV)/ok: requirements-dev.lock pyproject.toml
	python3 -c 'import ensurepip' 2>/dev/null || { apt-get update -q && apt-get install -qy python3-venv; }
	python3 -m venv $(VENV)
	$(BIN)/pip install --quiet --require-hashes --requirement requirements-dev.lock
	$(BIN)/pip install --quiet --no-deps --editable .
	touch $@
