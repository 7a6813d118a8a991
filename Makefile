# make demo     the main job on real data
# make test     lint, types and the test suite
# make test-all the same with the exhaustive sweeps; PROGRAMS=2000: with fewer random programs than 100,000,
#               which take an hour and a half on two cores, by Numba one and a quarter, the rest one hour
# make test-matrix  a sample of the tests under each Python from 3.11 to 3.14 that is there, with the oldest and the
#               newest libraries that pyproject.toml allows, in environments in build/matrix
# make bench    beside JAX, PyTorch, autograd, Dr.Jit, Numba and NumPy, in an environment of its own, twenty minutes;
#               BENCH_ARGS=--quick: two minutes; BENCH_PEERS=: without PyTorch, which is some gigabytes, and Dr.Jit
# make test-gpu the tests of programs on CUDA devices, on this machine's card; without one on the emulated device
# make bench-gpu  the same for speed, beside JAX, torch.compile, CuPy and a copy on the device; table in build/gpu
# make docs     the site, in build/docs/html: runs the code of all pages, needs the index of packages once, two minutes;
#               the pictures that show a browser or times are made by hand: python -m docs.screens
# make format   let ruff fix what it can
#
# Each makes the virtual environment first, if it is not there. PYTHON chooses the interpreter.

PYTHON ?= python3
VENV   ?= .venv
JOBS   ?= auto
PROGRAMS ?= 100000
BENCH_PEERS ?= torch drjit
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

# The arrays of the tests are small: BLAS threads would only fight with the test processes. Bytecode is kept, even where
# the environment says otherwise: the tests start some hundred processes, which would compile the package again.
TEST_ENV := OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=

DOCS_STAMP := $(VENV)/.installed-docs

.PHONY: demo test test-all test-matrix test-gpu bench bench-gpu docs lint types format clean

demo: $(STAMP)
	PYTHONDONTWRITEBYTECODE= $(BIN)/python examples/digits.py

test: lint types
	$(TEST_ENV) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal -m "not exhaustive"

test-all: lint types
	$(TEST_ENV) $(BIN)/python -m pytest -q -n $(JOBS) --dist worksteal --thorough --programs=$(PROGRAMS) \
		--printed=0:$(PROGRAMS)

test-matrix: $(STAMP)
	$(BIN)/python tools/matrix.py

test-gpu: $(STAMP)
	$(BIN)/python tools/gpu.py $(GPU_ARGS)

bench-gpu: $(STAMP)
	$(BIN)/python -m benchmarks.gpu $(GPU_ARGS)

bench: .venv-bench/.installed
	PYTHONDONTWRITEBYTECODE= .venv-bench/bin/python -m benchmarks $(BENCH_ARGS)

.venv-bench/.installed: pyproject.toml
	test -x .venv-bench/bin/python || $(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check -e '.[bench]'
	for peer in $(BENCH_PEERS); do \
		.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$$peer" || true; \
	done
	touch $@

docs: $(DOCS_STAMP)
	$(TEST_ENV) $(BIN)/python -m docs.building $(DOCS_ARGS)

$(DOCS_STAMP): $(STAMP) pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[docs]'
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(STAMP)
	$(BIN)/pyrefly check --python-interpreter-path $(BIN)/python --progress-bar no

format: $(STAMP)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# An editable installation only changes with pyproject.toml. Of the modules that it brings a run imports fewer than half:
# pip would compile all of them, a file at a time.
$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -e '.[test]'
	touch $(STAMP)

clean:
	rm -rf $(VENV) .venv-bench .hypothesis .pytest_cache .ruff_cache build dist
