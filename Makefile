# The commands of the README: `make demo`, `make test-quick`, `make test`. Each does all its set-up on a bare Debian 12 machine.
PACKAGES := clang-19 libclang-19-dev llvm-19-dev libclang-rt-19-dev clang-format-19 cmake ninja-build gcc g++ make \
            libgtest-dev libdeflate-dev liblz4-dev libzstd-dev graphviz python3 python3-venv libpython3-dev lld-19 procps \
            dpkg-dev zlib1g-dev autoconf automake libtool libtool-bin meson ccache \
            libgmock-dev libbenchmark-dev libpcre2-dev libaio-dev perl csmith libcsmith-dev \
            libapr1-dev libaprutil1-dev wrk libevent-dev libmemcached-tools libboost-context-dev \
            libev-dev libc-ares-dev libssl-dev nghttp2-client libpq-dev libmariadb-dev pkg-config \
            mariadb-server-core mariadb-client-core libxml2 tzdata tmux gdb linux-perf valgrind \
            chromium chromium-driver openjdk-17-jdk-headless
PYTHON := /usr/bin/python3
VENV := .venv
BUILD := build
BIN := $(CURDIR)/$(VENV)/bin
# Golden rewrites, transactions and their inputs are as odd as users' code.
FORMATTED = $(filter-out tests/instrumenter/rewrites/% tests/reorder/transactions/%,$(shell git ls-files '*.cpp' '*.h' '*.c'))

.PHONY: setup native warm wheel deb demo test test-quick test-browser test-aarch64 corpus lint format sanitize fuzz fuzz-reader properties bench-runtime bench-analyzer clean

# What is missing: Debian packages, the Python environment, the native parts below build/, all installed into .venv/.
setup: native warm

# Installs those of some Debian packages that are missing.
define install
@missing=; for p in $(1); do \
  dpkg-query -W -f='$${Status}' $$p 2>/dev/null | grep -q 'ok installed' || missing="$$missing $$p"; \
done; \
if [ -n "$$missing" ]; then \
  sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
  $$sudo apt-get update -q && \
  $$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends $$missing; \
fi
endef

.stamps/packages: Makefile
	@mkdir -p .stamps
	$(call install,$(PACKAGES))
	@touch $@

.stamps/venv: .stamps/packages pyproject.toml
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install -q --disable-pip-version-check -e '.[dev]'
	@touch $@

# PostgreSQL's server for tests/shared/real_servers.py, which unpacks it. Installed, it would start a cluster of its own.
.stamps/postgresql: .stamps/packages
	[ -x "$$(pg_config --bindir)/postgres" ] || \
	  (cd .stamps && apt-get download -q "postgresql-$$(pg_config --version | sed 's/[^0-9]*\([0-9]*\).*/\1/')")
	@touch $@

$(BUILD)/build.ninja: .stamps/packages
	cmake -G Ninja -S . -B $(BUILD) -DCMAKE_C_COMPILER=clang-19 -DCMAKE_CXX_COMPILER=clang++-19 \
	  -DCMAKE_INSTALL_PREFIX=$(CURDIR)/$(VENV) >/dev/null

native: .stamps/venv $(BUILD)/build.ninja
	cmake --build $(BUILD) --target runtime/all instrumenter/all workloads/all
	@cmake --install $(BUILD) >/dev/null

# Numba compiles the analyzer's kernels on first use and keeps them: here, and beside the native build. A small trace
# would compile none, one of few intervals not those of the certainty of shares.
warm: .stamps/venv
	@PYTHONPATH=bench $(BIN)/python -c "import pathlib, analyzer_traces as t; \
	  t.write(pathlib.Path('.stamps/warm.trace'), 200_000, locking=True)"
	@$(BIN)/vprof analyze .stamps/warm.trace >/dev/null

# dist/vprof-*.whl, with all native parts: packaging/README.md. A build of its own (5 minutes, the first time).
wheel: .stamps/venv
	cmake -G Ninja -S . -B $(BUILD)/portable -DVPROF_PORTABLE=ON -DCMAKE_C_COMPILER=clang-19 \
	  -DCMAKE_CXX_COMPILER=clang++-19 >/dev/null
	cmake --build $(BUILD)/portable --target runtime/all instrumenter/all workloads/all
	$(BIN)/python packaging/wheel.py $(BUILD)/portable dist

# dist/vprof*.deb for SUITE, a release of Debian (this machine's), from the wheel.
SUITE = $(shell . /etc/os-release && echo $$VERSION_CODENAME)
deb: wheel
	$(call install,debhelper)
	$(BIN)/python packaging/deb.py dist/vprof-*.whl dist --suite $(SUITE)

demo:
	$(MAKE) -j2 --no-print-directory setup
	$(BIN)/python targets/minidb/demo.py

test: test-quick
	@echo "Servers, built with vprof (10 minutes, once: kept outside the checkout), other projects' tests, pages in a browser"
	$(BIN)/python -m pytest -rs -n $(shell nproc) --dist loadscope -m "not quiet_cpus" $(OF_OTHERS)
	$(BIN)/python -m pytest -rs -m quiet_cpus $(OF_OTHERS)

# All of the corpus (tests/corpus/README.md), or PROJECT. What its projects need is installed first.
corpus: setup
	$(call install,$(shell $(BIN)/python tests/corpus/corpus.py --packages $(PROJECT)))
	$(BIN)/python tests/corpus/corpus.py $(PROJECT) --results tests/corpus/RESULTS.md

# Of each folder targets/X, those in tests/X.
OF_TARGETS := $(filter $(wildcard tests/*),$(patsubst targets/%/target.toml,tests/%,$(wildcard targets/*/target.toml)))
OF_OTHERS := $(OF_TARGETS) tests/corpus tests/browser
# Needs a build of its own.
OF_AARCH64 := tests/aarch64
# `make lint` has them.
OF_TEXT := tests/cli/test_docs.py tests/shared/test_citations.py

# What needs no other program's source. Tests that need the CPUs to themselves (tests/shared/quiet_cpus.py) come last.
test-quick: setup lint .stamps/postgresql
	cmake --build $(BUILD)
	ctest --test-dir $(BUILD) -j $(shell nproc) --output-on-failure
	$(BIN)/python -m pytest -n $(shell nproc) -m "not quiet_cpus" $(addprefix --ignore=,$(OF_OTHERS) $(OF_AARCH64) $(OF_TEXT))
	$(BIN)/python -m pytest -m quiet_cpus $(addprefix --ignore=,$(OF_OTHERS) $(OF_AARCH64) $(OF_TEXT))

# The pages of `vprof report` and `vprof diff` in a headless Chromium (2 minutes).
test-browser: setup
	$(BIN)/python -m pytest tests/browser

# The runtime and the rewriter for aarch64, cross-built, run by qemu: docs/design/aarch64.md (some minutes; not in CI).
CROSS_PACKAGES := gcc-aarch64-linux-gnu g++-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user-static
CROSS := $(BUILD)/aarch64
test-aarch64: setup
	$(call install,$(CROSS_PACKAGES))
	tests/aarch64/packages.sh $(CURDIR)/$(CROSS)/root
	cmake -G Ninja -S . -B $(CROSS) -DCMAKE_TOOLCHAIN_FILE=tests/aarch64/toolchain.cmake \
	  -DVPROF_AARCH64_ROOT=$(CURDIR)/$(CROSS)/root >/dev/null
	cmake --build $(CROSS)
	tests/aarch64/prefix.sh $(BUILD) $(CROSS) $(CURDIR)/$(CROSS)/prefix
	VPROF_PREFIX=$(CURDIR)/$(CROSS)/prefix $(BIN)/python -m pytest -n $(shell nproc) tests/aarch64

# Also what people read: generated pages, examples, links, citations.
lint: .stamps/venv
	clang-format-19 --dry-run --Werror $(FORMATTED)
	$(BIN)/ruff check --no-cache .
	$(BIN)/ruff format --no-cache --check .
	$(BIN)/vulture
	$(BIN)/mypy
	$(BIN)/python -m pytest -q $(OF_TEXT)

format: .stamps/venv
	clang-format-19 -i $(FORMATTED)
	$(BIN)/ruff check --no-cache --fix .
	$(BIN)/ruff format .

# The runtime's tests under address, undefined-behaviour and thread sanitizers; CMakePresets.json says what is left out.
sanitize: .stamps/packages
	for p in asan tsan; do \
	  cmake --preset $$p >/dev/null && cmake --build --preset $$p && ctest --preset $$p || exit 1; \
	done

# Random programs, plain against instrumented: tests/fuzz/README.md. FIRST=1001 goes on where a run of 1000 ended.
FIRST := 1
COUNT := 1000
fuzz: setup
	$(BIN)/python tests/fuzz/fuzz.py cxx c csmith --first $(FIRST) --count $(COUNT) -j 2

# Damaged traces, read and analyzed: tests/contract/fuzz_reader.py.
SECONDS := 600
fuzz-reader: setup
	PYTHONPATH=tests/contract:tests/shared $(BIN)/python tests/contract/fuzz_reader.py --seconds $(SECONDS)

# Every property test with TIMES as many inputs (hours): tests/shared/properties.py. ONLY="-k NAME" chooses some.
TIMES := 50
ONLY :=
properties: setup
	VPROF_EXAMPLES=$(TIMES) $(BIN)/python -m pytest -m property --durations=0 --durations-min=1 $(ONLY) \
	  tests/analyzer tests/reader tests/contract

bench-runtime: setup
	$(BIN)/python bench/runtime.py

# How many records: LENGTHS="1e6 1e7 1e8 1e9" (1e8 takes 2 GB of disk below build/, 1e9 5 GB). The same command goes on
# where it was stopped.
LENGTHS := 1e6 1e7
bench-analyzer: setup
	$(BIN)/python bench/analyzer.py $(LENGTHS) --keep $(BUILD)/bench-analyzer

clean:
	rm -rf $(BUILD) $(VENV) dist .stamps .vprof
