# The two commands of the README: `make demo` and `make test`. Each does all its set-up on a bare Debian 12 machine.
PACKAGES := clang-19 libclang-19-dev llvm-19-dev libclang-rt-19-dev clang-format-19 cmake ninja-build g++ gcc make \
            libgtest-dev graphviz python3 python3-venv
PYTHON := /usr/bin/python3
VENV := .venv
BUILD := build
BIN := $(CURDIR)/$(VENV)/bin
SOURCES := $(shell git ls-files '*.cpp' '*.h' '*.c' '*.S' 2>/dev/null)
# Golden rewrites and their inputs are as odd as users' code.
FORMATTED := $(filter-out tests/instrumenter/rewrites/%,$(filter %.cpp %.h %.c,$(SOURCES)))

.PHONY: setup packages native demo test lint bench-runtime format clean

setup: native

packages: .stamps/packages
.stamps/packages: Makefile
	@mkdir -p .stamps
	@missing=$$(dpkg-query -W -f='$${Package} $${Status}\n' $(PACKAGES) 2>/dev/null | awk '/ok installed/{print $$1}' > .stamps/have; \
	  for p in $(PACKAGES); do grep -qx $$p .stamps/have || echo $$p; done); \
	if [ -n "$$missing" ]; then \
	  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
	  $$sudo apt-get update -q && DEBIAN_FRONTEND=noninteractive $$sudo apt-get install -q -y --no-install-recommends $$missing; \
	fi
	@touch $@

.stamps/venv: .stamps/packages pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

$(BUILD)/build.ninja: .stamps/packages
	cmake -G Ninja -S . -B $(BUILD) -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
	  -DCMAKE_INSTALL_PREFIX=$(CURDIR)/$(VENV) >/dev/null

native: .stamps/venv $(BUILD)/build.ninja
	@cmake --build $(BUILD)
	@cmake --install $(BUILD) >/dev/null

demo: setup
	$(BIN)/python targets/minidb/demo.py

test: setup lint
	ctest --test-dir $(BUILD) --output-on-failure
	$(BIN)/python -m pytest

lint: setup
	clang-format-19 --dry-run --Werror $(FORMATTED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: setup
	clang-format-19 -i $(FORMATTED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench-runtime: setup
	$(BIN)/python bench/runtime.py

clean:
	rm -rf $(BUILD) $(VENV) .stamps .vprof
