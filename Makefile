# Every target sets up what it needs: a virtual environment in .venv, the compiled package in it, builds under build/.
# Variables: PYTHON = the interpreter that makes .venv (3.11 or newer); PYTEST, BENCH = more arguments for pytest and for
# the benchmark.

PYTHON ?= python3
PYTEST ?=
BENCH ?=

VENV := .venv
PY := $(VENV)/bin/python
PIP := $(PY) -m pip --disable-pip-version-check --quiet install
# Tools that are not on the machine (cmake, ninja) are in .venv.
TOOLS := PATH="$(CURDIR)/$(VENV)/bin:$$PATH"

CPP_FILES := $(shell find cpp tests/cpp benchmarks -name '*.[ch]pp' -o -name '*.h')
# The folders are in the list as well: theirs is the date that changes when a file goes away.
BUILD_FILES := CMakeLists.txt pyproject.toml $(shell find cpp)

.PHONY: demo test bench sanitize lint format docs clean
.DELETE_ON_ERROR:

demo: $(VENV)/installed
	@$(PY) -m topktree._demo

test: $(VENV)/installed $(VENV)/test-tools $(VENV)/cli-tools $(VENV)/plot-tools $(VENV)/interop-tools $(VENV)/browser-tools
	@$(call cpp_tests,release,Release,)
	@$(PY) -m pytest --quiet $(PYTEST)

bench: $(VENV)/installed $(VENV)/bench-tools
	@export $(TOOLS) && dir=build/benchmarks && mkdir -p $$dir \
	&& cmake -S . -B $$dir -G Ninja -DTOPKTREE_BENCHMARKS=ON -DTOPKTREE_WERROR=ON > $$dir/configure.log \
	&& cmake --build $$dir > $$dir/build.log || { cat $$dir/*.log; exit 1; }
	@$(PY) benchmarks/bench.py $(BENCH)

sanitize: $(VENV)/build-tools
	@$(call cpp_tests,address,Debug,address$(comma)undefined)
	@$(call cpp_tests,thread,Debug,thread,-R 'search|thread_pool|cache')

lint: $(VENV)/installed $(VENV)/lint-tools $(VENV)/cli-tools $(VENV)/plot-tools
	@$(TOOLS) ruff check
	@$(TOOLS) ruff format --check
	@$(TOOLS) mypy --strict
	@$(TOOLS) clang-format --dry-run -Werror $(CPP_FILES)

# Broken links and references are errors. Nothing is fetched; the scripts of examples/ are run.
docs: $(VENV)/installed $(VENV)/docs-tools $(VENV)/cli-tools $(VENV)/plot-tools $(VENV)/interop-tools
	@MPLBACKEND=Agg $(PY) -m sphinx -E -W --keep-going --quiet -b html -d build/docs-cache docs build/docs
	@echo "The site is build/docs/index.html"

format: $(VENV)/lint-tools
	@$(TOOLS) ruff check --fix-only --quiet
	@$(TOOLS) ruff format
	@$(TOOLS) clang-format -i $(CPP_FILES)

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis

comma := ,

# $(call cpp_tests,folder,build type,sanitizers,which): configure, build and run the C++ tests in build/<folder>. Only
# some of them have threads.
define cpp_tests
export $(TOOLS) && dir=build/$(1) && mkdir -p $$dir \
&& cmake -S . -B $$dir -G Ninja -DCMAKE_BUILD_TYPE=$(2) -DTOPKTREE_TESTS=ON -DTOPKTREE_WERROR=ON -DTOPKTREE_SANITIZE=$(3) > $$dir/configure.log \
|| { cat $$dir/configure.log; exit 1; }; \
cmake --build $$dir && cd $$dir && ctest --output-on-failure $(4)
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

# scikit-build-core itself says whether cmake and ninja are missing, or too old, on this machine.
$(VENV)/build-tools: $(VENV)/created pyproject.toml
	@echo "Installing the build tools"
	@$(call requirements,build-system requires)
	@$(PY) -c 'from scikit_build_core.build import get_requires_for_build_editable as get; print(*get(), sep="\n")' > $@.txt
	@$(PIP) -r $@.txt
	@touch $@

$(VENV)/installed: $(VENV)/build-tools $(BUILD_FILES)
	@echo "Building topktree"
	@$(TOOLS) $(PIP) --no-build-isolation --config-settings=build-dir=build/editable --config-settings=cmake.define.TOPKTREE_WERROR=ON --editable .
	@touch $@

$(VENV)/bench-tools: $(VENV)/created benchmarks/requirements.txt
	@echo "Installing the bench tools"
	@$(PIP) -r benchmarks/requirements.txt
	@touch $@

$(VENV)/%-tools: $(VENV)/created pyproject.toml
	@echo "Installing the $* tools"
	@$(call requirements,project optional-dependencies $*)
	@touch $@
