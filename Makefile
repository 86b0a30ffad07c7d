# make train         install the program on first use, train for about three minutes, show the leaderboard
# make test          install what the tests need on first use, run them
# make test-all      all tests with coverage: also those that start processes or a browser, compile kernels of a study,
#                    or cover all characters; prints the 25 slowest
# make test-gpu      every path through a CUDA device, once; about ten minutes, skipped where there is none
# make test-ray      install Ray; two actors of a real cluster must play what threads play
# make test-extras   install what others made; the tests beside it
# make check         style, types, the direction of imports, JavaScript, and that no source runs or opens what others
#                    hand over
# make figures       make every published figure of fights again, about 90 minutes (REPLAYS=folder of people's games)
# make check-figures name published figures that are of other versions of the game, or that pages do not show
# make docs          build the documentation as a site, build/site/index.html (REPOSITORY=URL for links to sources)
# make wheels        build the wheels, with the rules as WebAssembly and one with their machine code, into dist/
# make release       check a release, build it into dist/ and check the files (ARGS=--tag tags it)
# make bench         measure speed and memory of the training loop
#
# Options: PYTHON=python3.12        another interpreter (3.11 or newer) for .venv
#          TORCH_INDEX=URL          take torch from this package index (see README)
#          ARGS="..."               more arguments for train and bench, or those of pytest in place of test's own
#          JOBS=4                   processes that share the tests (3: on two cores one of them waits)
#          UV=                      install with pip, though uv is there

PYTHON ?= python3
TORCH_INDEX ?=
ARGS ?=
# extras that the tests need
TESTED := dev,dolphin,dialogue
EXTRAS ?= docs,export,openspiel,ray
PEERS := peppi-py==0.8.6 # read replay files beside our reader, in the tests only
# use the environments, in the tests only; moviepy asks for an older Pillow than ours and works with ours, so it comes alone
USERS := stable-baselines3==2.9.2 nbclient==0.11.0 ipykernel==7.4.0 pygame==2.6.1 imageio imageio-ffmpeg proglog decorator python-dotenv
MOVIEPY := moviepy==2.2.1
OLD := numpy==1.26.4 gymnasium==0.29.1 # what other trainers pin; the games run with it, in the tests only
OLD_NUMBA := numba==0.61.2 llvmlite==0.44.0 numpy==2.2.6 # the oldest that makes the rules for browsers, in the tests only
# train language models beside our learner, in the tests only; verl asks for more than the tests need, so it comes alone
VERL := verl==0.9.1
VERL_NEEDS := transformers==5.9.0 tensordict==0.10.0 torchdata ray[default] datasets hydra-core peft accelerate dill \
	codetiming pylatexenc cachetools uvicorn fastapi pyzmq msgspec TransferQueue>=0.1.10
TRL := trl==1.16.0
MINUTES ?= 3
JOBS ?= 3

BIN := .venv/bin
# ends a session in which no test has finished for ten minutes
PYTEST := $(BIN)/python -m tests.support.watchdog
PIP := $(BIN)/python -m pip --disable-pip-version-check
# uv where it is installed, else pip. Both read constraints.txt, the only list of versions: pip cannot read a uv.lock,
# and a uv.lock fixes the index of each package, so that TORCH_INDEX would have no effect.
UV := $(shell command -v uv 2>/dev/null)
# Without byte code, as uv installs: it takes 200 MB, most of it for modules that are never imported, and the first import
# writes the rest. Where that is turned off it is written here, or every process would compile torch: 2 s and more.
BYTECODE := $(if $(PYTHONDONTWRITEBYTECODE),$(if $(UV),--compile-bytecode),$(if $(UV),,--no-compile))
INSTALL := $(if $(UV),$(UV) pip install --python $(BIN)/python,$(PIP) install) $(BYTECODE) --quiet
# without its last option uv takes a package from the first index that has any version of it
EXTRA_INDEX := $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX) $(if $(UV),--index-strategy unsafe-best-match))
STAMP := .venv/.installed
TESTS := .venv/.installed-for-tests
TORCH := $(shell sed -n 's/^torch==/torch==/p' constraints.txt)

.DEFAULT_GOAL := help
.PHONY: help .venv train test test-all test-gpu test-ray test-extras check figures check-figures docs wheels bench format clean

help:
	@sed -n '/^#/!q; s/^# \{0,1\}//p' Makefile

.venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "Python 3.11 or newer is needed; found $$($(PYTHON) --version 2>&1). Name one with PYTHON=..." >&2; exit 1; }
	@echo "== virtual environment in .venv ($$($(PYTHON) --version))"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv || \
		{ rm -rf .venv; echo "The venv module of Python is missing; on Debian and Ubuntu: apt install python3-venv" >&2; exit 1; }
	@echo "== this project and its packages: about 300 MB to download, 1.15 GB on disk"
ifneq ($(TORCH_INDEX),)
	@echo "== torch from $(TORCH_INDEX)"
	@$(INSTALL) --no-deps --index-url $(TORCH_INDEX) $(TORCH)
else ifeq ($(shell uname 2>/dev/null),Linux)
	@echo "== gigabytes more if torch has CUDA; without a GPU: make train TORCH_INDEX=https://download.pytorch.org/whl/cpu"
endif
	@$(INSTALL) $(EXTRA_INDEX) -c constraints.txt -e .
	@touch $@
	@echo "== ready: $(BIN)/python"

$(TESTS): $(STAMP)
	@echo "== packages for the tests: about 260 MB to download, 0.9 GB on disk"
	@$(INSTALL) $(EXTRA_INDEX) -c constraints.txt -e '.[$(TESTED)]'
	@touch $@

train: .venv
	$(BIN)/python scripts/train_self_play.py --game-type mock --preset laptop --track-elo --max-minutes $(MINUTES) $(ARGS)
	@echo "Before typing these commands: source .venv/bin/activate"

test: $(TESTS)
	$(PYTEST) $(if $(ARGS),$(ARGS),-n $(JOBS) --dist loadfile --no-loadscope-reorder)

test-all: $(TESTS)
	$(PYTEST) -m "not slow and not dolphin and not gpu and not extras" --cov -n $(JOBS) --dist loadfile --no-loadscope-reorder --durations 25 $(ARGS)

test-gpu: $(TESTS)
	$(PYTEST) -m gpu tests/test_gpu.py $(ARGS)

test-ray: $(TESTS)
	$(INSTALL) -c constraints.txt -e '.[$(TESTED),ray]'
	$(PYTEST) -m extras tests/extras/test_ray.py -k "mock-begins or tic-tac-toe-goes-on" $(ARGS)

test-extras: $(TESTS)
	$(PIP) install -c constraints.txt -e '.[$(TESTED),$(EXTRAS)]'
	$(PIP) install $(PEERS)
	$(PIP) install -c constraints.txt $(USERS)
	$(PIP) install --no-deps $(MOVIEPY)
	$(PIP) install --no-deps --upgrade --target .venv/old $(OLD)
	$(PIP) install --no-deps --upgrade --target .venv/old-numba $(OLD_NUMBA)
	$(PIP) install --no-deps $(VERL)
	$(PIP) install $(TORCH) $(TRL) $(foreach need,$(VERL_NEEDS),'$(need)')
	@# verl and TransferQueue bring packages called tests and scripts, which would hide ours
	rm -rf .venv/lib/python*/site-packages/tests .venv/lib/python*/site-packages/scripts
	command -v npm >/dev/null && npm install --prefix tests/extras --no-package-lock --no-audit --no-fund || \
		echo "no npm: the tests beside slippi-js will skip"
	$(PYTEST) -m extras tests/extras $(ARGS)
	$(PYTEST) tests/games/test_openspiel_games.py tests/games/test_engines.py tests/run/test_any_game.py
	$(PYTEST) tests/melee/test_rendering.py

check: $(TESTS)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python -m scripts.studies.check_sources
	@if test -x $(BIN)/oxlint; then echo $(BIN)/oxlint; $(BIN)/oxlint; \
		else echo "oxlint has no wheel for this machine: the JavaScript is not checked"; test "$(CI)" != true; fi

figures: $(TESTS)
	$(BIN)/python -m scripts.studies.figures $(if $(REPLAYS),--replays $(REPLAYS)) $(ARGS)

check-figures: $(TESTS)
	$(BIN)/python -m scripts.studies.figures --check

FIGHTS := build/fights
docs: $(STAMP)
	$(INSTALL) $(EXTRA_INDEX) -c constraints.txt -e '.[docs]'
	@mkdir -p $(FIGHTS)
	$(BIN)/selfplay watch expert --out $(FIGHTS)/fight.html
	$(BIN)/selfplay play strong --name you --no-open --out $(FIGHTS)/play.html
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build $(ARGS)
	@echo build/site/index.html

wheels: $(TESTS)
	$(BIN)/python -m scripts.wheels $(ARGS)

.PHONY: release
release: $(TESTS)
	$(INSTALL) twine==7.0.0
	$(BIN)/python -m scripts.release $(ARGS)

bench: $(TESTS)
	$(BIN)/python -m scripts.studies.bench $(ARGS)

format: $(TESTS)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage
