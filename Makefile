# Every target sets up what it needs: a virtual environment in .venv, the compiled package in it, builds under build/.
# Variables: PYTHON = the interpreter that makes .venv (3.11 or newer); PYTEST, BENCH, ARGS = arguments for pytest and for
# `topktree reproduce` (bench, reproduce); DIST_TESTS = what test-dist runs of the tests, all of them if it is empty;
# COVERAGE = the goal in percent that `make coverage` prints; FUZZ = seconds, and the first seed, of the random calls of
# `make fuzz`. HYPOTHESIS_PROFILE = dev, ci or nightly: how many random problems.

PYTHON ?= python3
PYTEST ?=
BENCH ?= speed
ARGS ?= page
COVERAGE ?= 95
FUZZ ?= 20
# A command that ends when nothing else disturbs the tests of time and memory.
BEFORE_SERIAL ?= true
DIST_TESTS ?= $(patsubst %,tests/%.py,contracts/test_package test_classifier data/test_table tree/test_tree tree/test_export data/test_monsters)

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet install
# Tools that are not on the machine (cmake, ninja) are in .venv.
TOOLS := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

CPP_FILES := $(shell find cpp tests/cpp evidence -name '*.[ch]pp' -o -name '*.h')
TEST_TOOLS := $(patsubst %,$(VENV)/%-tools,test cli plot interop browser dask) $(VENV)/evidence
# The folders are in the list as well: theirs is the date that changes when a file goes away.
BUILD_FILES := CMakeLists.txt pyproject.toml $(shell find cpp -not -name '*.md')

.PHONY: demo setup test test-cpp test-parallel test-serial coverage bench reproduce sanitize fuzz lint format docs dist test-dist clean
.DELETE_ON_ERROR:

# Everything that any other target would install.
setup: $(VENV)/installed $(TEST_TOOLS) $(patsubst %,$(VENV)/%-tools,lint docs dist)

demo: $(VENV)/installed
	@$(PY) examples/demo.py

test: test-cpp $(VENV)/installed $(TEST_TOOLS)
	@$(run_pytest)

test-cpp: $(VENV)/installed
	@$(call cpp_tests,editable)

# The two parts of the Python tests: those that disturb nobody, side by side, and those that nothing else may disturb.
test-parallel: $(VENV)/installed $(TEST_TOOLS)
	@$(PY) -m pytest --quiet -m "not serial" $(SIDE_BY_SIDE)

test-serial: $(VENV)/installed $(TEST_TOOLS)
	@$(PY) -m pytest --quiet -m serial

# How much of the Python code the tests run: a table here, the lines in build/coverage/html. The goal is a hint, no check.
coverage: $(VENV)/installed $(TEST_TOOLS)
	@mkdir -p build/coverage && rm -f build/coverage/data*
	@$(PY) -m pytest --quiet --cov --cov-report= -m "not serial" $(SIDE_BY_SIDE)
	@$(PY) -m pytest --quiet --cov --cov-report= --cov-append -m serial
	@$(PY) -m coverage html --quiet && $(PY) -m coverage report
	@echo "$$($(PY) -m coverage report --format=total)% of lines and branches are run; the goal is $(COVERAGE)%."

bench: $(VENV)/evidence $(VENV)/peers
	@mkdir -p build/benchmarks
	@$(TOOLS) cmake --build build/editable --target kernel_throughput > build/benchmarks/build.log || { cat build/benchmarks/build.log; exit 1; }
	@cp build/editable/kernel_throughput build/benchmarks
	@$(PY) -m topktree_evidence.studies.speed.kernels docs/benchmarks/$(if $(filter speed-full,$(BENCH)),full,quick)-kernels.csv 3
	@$(PY) -m topktree reproduce --out docs $(BENCH)

# Runs and pages of the evidence: make reproduce ARGS="fig2 --datasets car --splits 2". ARGS="page --out docs" writes the
# pages of docs/ anew from the runs that are kept there.
reproduce: $(VENV)/evidence
	@$(PY) -m topktree reproduce --out build/reproduction $(ARGS)

sanitize: $(VENV)/build-tools
	@$(call sanitized,address,address$(comma)undefined)
	@$(call cpp_tests,address)
	@$(run_fuzz)
	@$(call sanitized,thread,thread)
	@$(call cpp_tests,thread)

# Random calls of every function of the core under the address sanitizer: make fuzz FUZZ="600 1000000" for ten minutes, with
# other calls than the first million.
fuzz: $(VENV)/build-tools
	@$(call sanitized,address,address$(comma)undefined)
	@$(run_fuzz)

lint: $(VENV)/evidence $(VENV)/lint-tools $(VENV)/test-tools $(VENV)/dask-tools
	@$(TOOLS) ruff check
	@$(TOOLS) ruff format --check
	@$(TOOLS) lint-imports --no-logo --no-cache
	@$(TOOLS) mypy
	@$(TOOLS) clang-format --dry-run -Werror $(CPP_FILES)

# Broken links and references are errors. Nothing is fetched; the scripts of examples/ are run.
docs: $(VENV)/installed $(VENV)/docs-tools $(VENV)/cli-tools $(VENV)/plot-tools $(VENV)/interop-tools $(VENV)/dask-tools
	@MPLBACKEND=Agg $(PY) -m sphinx -E -W --keep-going --quiet -b html -d build/docs-cache docs build/docs
	@echo "The site is build/docs/index.html"

format: $(VENV)/lint-tools
	@$(TOOLS) ruff check --fix-only --quiet
	@$(TOOLS) ruff format
	@$(TOOLS) clang-format -i $(CPP_FILES)

# From the files that git knows, as they are now: the sdist, the wheel from it, and the wheel named after the oldest Linux
# it runs on.
dist: $(VENV)/build-tools $(VENV)/dist-tools
	@rm -rf dist build/dist && mkdir -p dist build/dist/source
	@tree=$$(git stash create) && git archive "$${tree:-HEAD}" | tar -x -C build/dist/source
	@export $(TOOLS) && cd build/dist && { python -m build --no-isolation --outdir . source > build.log 2>&1 \
	&& case $$(uname) in Linux) auditwheel repair --wheel-dir ../../dist *.whl > repair.log 2>&1;; *) cp *.whl ../../dist;; esac; } \
	|| { cat *.log; exit 1; }
	@mv build/dist/*.tar.gz dist
	@$(TOOLS) twine --no-color check --strict dist/*
	@$(PY) build/dist/source/tests/release/check_files.py dist/*.whl dist/*.tar.gz

# What users get: the wheel and the sdist, each in a fresh environment outside of this folder, with the tests of the sdist.
test-dist: dist
	@dir=$$(mktemp -d) && trap 'rm -rf "$$dir"' EXIT && tar -x -z -f dist/*.tar.gz -C $$dir --strip-components 1 \
	&& $(call fresh,whl,test$(comma)cli$(comma)plot) && $(call fresh,tar.gz,cli) \
	&& cd $$dir && whl/bin/python -m pytest --quiet $(DIST_TESTS)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

comma := ,

# $(call sanitized,folder,sanitizers): configure a build of the C++ tests in build/<folder>.
define sanitized
export $(TOOLS) && dir=build/$(1) && mkdir -p $$dir \
&& cmake -S . -B $$dir -G Ninja -DCMAKE_BUILD_TYPE=Debug -DTOPKTREE_TESTS=ON -DTOPKTREE_WERROR=ON -DTOPKTREE_SANITIZE=$(2) > $$dir/configure.log \
|| { cat $$dir/configure.log; exit 1; }
endef

# $(call cpp_tests,folder): build and run the C++ tests of build/<folder>.
define cpp_tests
export $(TOOLS) && cmake --build build/$(1) --target cpp_tests && cd build/$(1) && ctest --output-on-failure --parallel 2
endef

run_fuzz = export $(TOOLS) && cmake --build build/address --target fuzz && build/address/fuzz $(FUZZ)

SIDE_BY_SIDE := -n auto --maxprocesses 8 --dist worksteal
# All tests in two parts; with arguments of the caller's, which may leave either part empty, in one.
ifeq ($(strip $(PYTEST)),)
run_pytest = $(MAKE) --no-print-directory test-parallel && $(BEFORE_SERIAL) && $(MAKE) --no-print-directory test-serial
else
run_pytest = $(PY) -m pytest --quiet $(PYTEST)
endif

# $(call fresh,ending,extras): an environment in $dir for the file in dist/ with that ending, and the smoke test in it.
# Nothing is compiled to bytecode that the tests do not import.
define fresh
$(PYTHON) -m venv --without-pip $$dir/$(1) \
&& $(PY) -m pip --python $$dir/$(1)/bin/python --disable-pip-version-check --quiet install --no-compile "$$(echo dist/*.$(1))[$(2)]" \
&& $$dir/$(1)/bin/python -I $$dir/tests/release/smoke.py
endef

# $(call requirements,key ...): pip install the list at that key of pyproject.toml.
define requirements
$(PY) -c 'import functools, sys, tomllib; project = tomllib.load(open("pyproject.toml", "rb")); \
print(*functools.reduce(dict.get, sys.argv[1:], project), sep="\n")' $(1) > $@.txt && $(PIP) -r $@.txt
endef

# The files in .venv are stamps: each says that one step of the set-up is done.

$(VENV)/created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	echo "topktree needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) --version 2>&1). Try: make PYTHON=python3.12" >&2; \
	exit 1; }
	@echo "Creating $(VENV)"
	@$(PYTHON) -m venv $(VENV)
	@touch $@

# The release build has the C++ tests and the benchmark as targets: they share the core with the extension module.
CMAKE_DEFINES := $(patsubst %,--config-settings=cmake.define.TOPKTREE_%=ON,WERROR TESTS BENCHMARKS)

# scikit-build-core itself says whether cmake and ninja are missing, or too old, on this machine.
$(VENV)/build-tools: $(VENV)/created pyproject.toml
	@echo "Installing the build tools"
	@$(call requirements,build-system requires)
	@$(PY) -c 'from scikit_build_core.build import get_requires_for_build_editable as get; print(*get(), sep="\n")' > $@.txt
	@$(PIP) -r $@.txt
	@touch $@

$(VENV)/installed: $(VENV)/build-tools $(BUILD_FILES)
	@echo "Building topktree"
	@$(TOOLS) $(PIP) --no-build-isolation --config-settings=build-dir=build/editable $(CMAKE_DEFINES) --editable .
	@touch $@

# The experiments and benchmarks, a distribution of their own; peers are the solvers they compare topktree with.
$(VENV)/evidence: $(VENV)/installed $(VENV)/cli-tools $(VENV)/plot-tools evidence/pyproject.toml
	@echo "Installing the evidence"
	@$(PIP) --editable ./evidence
	@touch $@

$(VENV)/peers: $(VENV)/evidence
	@echo "Installing the peers"
	@$(PIP) --editable './evidence[peers]'
	@touch $@

$(VENV)/%-tools: $(VENV)/created pyproject.toml
	@echo "Installing the $* tools"
	@$(call requirements,project optional-dependencies $*)
	@touch $@
