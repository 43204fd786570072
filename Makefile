# Everything a contributor runs. `make` alone explains it.
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
VENV := .venv/bin
# A root shell by plain `su` lacks these, and dockerd and iptables lie there.
export PATH := $(PATH):/usr/local/sbin:/usr/sbin:/sbin

.PHONY: help
help: ## Show this text
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: setup
setup: ## Prepare what is missing: virtual environment, etcd, Docker engine, demo image
	@deploy/setup.sh

.PHONY: python
python: # Only the virtual environment, for targets that need no services
	@deploy/setup.sh --python-only

.PHONY: demo
demo: setup ## Watch three trainings share a small cluster (under 4 minutes)
	@$(VENV)/python -m deploy.demo

.PHONY: dev
dev: setup ## Run a small cluster to play with, until Ctrl-C
	@$(VENV)/dorm dev --cpus 1 # six containers of the example fill it

.PHONY: test
test: setup ## Run all tests, real etcd and real Docker included
	@$(VENV)/python -m pytest -q $(ARGS)

.PHONY: sim
sim: python ## Run the seeded simulation only: SEEDS=5000 for more of it, SEED=7 for one seed
	@DORM_SIM_SEED=$(SEED) DORM_SIM_SEEDS=$(SEEDS) $(VENV)/python -m pytest -q \
		$(if $(SEED),tests/simulation/test_simulation.py -k survive,tests/simulation) $(ARGS)

.PHONY: fuzz
fuzz: python ## Fuzz every reader of bytes for 25 s each, and the API with many requests
	@for target in event spec_yaml spec_json checkpoint progress document memory; do \
		printf '\n== %s\n' "$$target"; \
		$(VENV)/python -m tests.fuzz "$$target" -max_total_time=25 -print_final_stats=1 $(ARGS); \
	done
	@DORM_FUZZ_EXAMPLES=300 $(VENV)/python -m pytest -q tests/fuzz

.PHONY: chaos
chaos: setup ## Break a cluster of real processes at random and judge it: MINUTES=6 SEED=1 (root)
	@$(VENV)/python -m tests.chaos.soak --minutes $(or $(MINUTES),6) --seed $(or $(SEED),1) $(ARGS)

.PHONY: bench
bench: setup ## Measure speed, next to bare etcd, bare Docker and a MILP in the same run
	@for part in fold append containers "optimizer --quick"; do \
		printf '\n== tests/bench/%s\n' "$$part"; \
		$(VENV)/python -m tests.bench.$$part; \
	done

.PHONY: evaluation
evaluation: python ## Repeat the paper's evaluation and write docs/evaluation (a quarter of an hour)
	@$(VENV)/python -m tests.bench.evaluation --out docs/evaluation $(ARGS)

.PHONY: check
check: python ## Check format, lint, types and the direction of imports
	@$(VENV)/ruff format --check
	@$(VENV)/ruff check
	@$(VENV)/mypy
	@$(VENV)/lint-imports

.PHONY: images
images: setup ## Build the demo image again if its inputs changed
	@$(VENV)/python -m dorm.local.images

.PHONY: lock
lock: python ## Resolve requirements.lock again, from pyproject.toml
	@$(VENV)/python -m venv --clear .local/uv
	@.local/uv/bin/pip install --quiet uv
	@deploy/lock.sh .local/uv/bin/uv

.PHONY: clean
clean: ## Remove everything that make made here: .venv, .local (Docker's data too), caches
	@rm -rf .venv .local dist .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
