# The entry point for developers and CI. Each target does its own set-up.
.POSIX:
.PHONY: run deb exports keys test test-release test-sanitized sanitized build tests tools lint format bench crash-lab laboratory soak simulate simulator step-accuracy docs sbom clean setup openssl receivers readers network prometheus broker nats curl
.PHONY: up down logs compose-test browser browser-setup pictures

SWIFT = swift
SOURCES = Package.swift Services Shared Tests
CHECKS = --explicit-target-dependency-import-check error
# How tests are built: optimized, like releases, which makes tests that compute three times as fast; with `@testable` imports, and
# with the check of exclusive memory access that a release leaves out. TESTED= builds them in debug.
TESTED = -c release -debug-info-format none -Xswiftc -enable-testing -Xswiftc -enforce-exclusivity=checked
# With ONE_BUILD=1, what `make tests` built is used, and nothing else is built, except for the sanitizer: .ci/run starts from
# scratch.
ONE_BUILD ?=
# Programs that are only tried are built in debug: from scratch, that takes less than half of the time.
TRIED = $(if $(ONE_BUILD),:,$(SWIFT) build $(CHECKS))
TRIED_PATH = $(if $(ONE_BUILD),$(RELEASE_PATH),$$($(SWIFT) build --show-bin-path))
# The commit that --version names, if this is a repository.
COMMIT = $$(git describe --always --dirty 2>/dev/null)
# The Swift library is linked statically: less memory, a faster start, and programs that run where no Swift is installed. The same
# commit gives the same bytes: the compiler orders some output by hashes and by memory addresses, so both are kept the same in
# each build. If addresses can't be kept from being random, as in some containers, a few instructions differ.
STEADY = SWIFT_DETERMINISTIC_HASHING=1 $$(setarch --addr-no-randomize true 2>/dev/null && echo setarch --addr-no-randomize)
# Without debug information, which packages and images don't have either: that saves a quarter of the time.
RELEASE = $(if $(ONE_BUILD),:,HOLDFAST_COMMIT="$(COMMIT)" $(STEADY) $(SWIFT) build \
    -c release --static-swift-stdlib -debug-info-format none $(CHECKS))
RELEASE_PATH = $$($(SWIFT) build -c release --show-bin-path)

# All programs in one build: with --product given several times, only the last one is built.
PROGRAMS = $(RELEASE) --target Programs
# The same with the console and the relay, which the programs do not wait for.
ALL_PROGRAMS = $(PROGRAMS) && $(RELEASE) --product console && $(RELEASE) --product relay

# Runs all five programs and the console: records a walk from end to end, counts its steps, archives it.
# REPLAY=file.csv replays a recording of yours; DURATION=20s; DATA=./data.
run: setup
	@echo "run: building the programs, which takes some minutes the first time" >&2
	$(TRIED) --target Programs
	$(TRIED) --product console
	@Scripts/run "$(TRIED_PATH)"

# A Debian package and a .tar.gz in ./packages: see docs/install.md.
deb: setup
	@Scripts/install dpkg-shlibdeps
	$(ALL_PROGRAMS)
	packaging/build "$(RELEASE_PATH)" packages

# Exports the session that make run recorded, in every format, with the programs of a release build.
exports: setup
	$(PROGRAMS)
	@Scripts/export "$(RELEASE_PATH)"

# Makes the missing keys that protect connections, in KEYS=./keys: see docs/security.md.
KEYS = ./keys
keys: setup
	$(RELEASE) --product holdfast-keys
	@"$(RELEASE_PATH)/holdfast-keys" make '$(KEYS)'

# Tests that compute run first, and those with real programs last: each would take processor time from the other. The hours-long
# trigger tests compute for a minute, and while they run, no test that waits for a socket gets a thread.
COMPUTING = ArchiverCoreTests|CrashLabTests|ExportTests|HashingTests|ImportTests|MessagesTests|RecordingTests|RelayCoreTests|StepCounterCoreTests|StepDetectionTests|TextInputTests
# These take all processors: hundreds of devices, archives, thousands of files, full disks, floods of samples.
CROWDED = ^SystemTests\.(StepCounterTests|ArchivingTests|SeveralArchiversTests|ManyFilesTests|AcceptanceTests|GapTests)
# Attacks.
HOSTILE = ^SystemTests\.Hostile
# Few at a time: all tests of a group at once would starve each other until they time out.
FEW = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=12
TEST = $(FEW) $(SWIFT) test --skip-build $(TESTED)
# Each attack needs a processor, and its victim another.
FEWER = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=3
test: tests
	$(TEST) --filter '^($(COMPUTING))\.'
	$(TEST) --filter '^LogManagerTests\.'
	$(TEST) --filter '^RecorderTests\.'
	$(TEST) --filter '^StepCounterTests\.'
	$(TEST) --filter '^TriggersTests\.'
	$(TEST) --skip '^($(COMPUTING)|LogManagerTests|RecorderTests|StepCounterTests|TriggersTests|SystemTests)\.'
	$(TEST) --filter '^SystemTests\.' --skip '$(CROWDED)|$(HOSTILE)'
	$(TEST) --filter '$(CROWDED)'
	$(FEWER) $(SWIFT) test --skip-build $(TESTED) --filter '$(HOSTILE)'

# Builds the tests. Meanwhile, what they use is installed, which takes a minute or two on a new machine.
tests: setup
	make tools & built=0; $(SWIFT) build --build-tests $(CHECKS) $(TESTED) || built=$$?; wait $$! && exit $$built

tools: receivers readers network prometheus broker nats curl

# Runs the tests of the real programs on another build, such as HOLDFAST_PROGRAMS=/usr/bin of a package; by default on a release.
test-release: tests
	[ -n "$$HOLDFAST_PROGRAMS" ] || $(PROGRAMS)
	export HOLDFAST_PROGRAMS="$${HOLDFAST_PROGRAMS:-$(RELEASE_PATH)}"; \
	    $(TEST) --filter '^SystemTests\.' --skip '$(HOSTILE)' && \
	    $(FEWER) $(SWIFT) test --skip-build $(TESTED) --filter '$(HOSTILE)'

# The whole system in containers: see compose/README.md.
up:
	docker compose up --build --detach

down:
	docker compose down

logs:
	docker compose logs --follow

# Uses the containers as people do, including kills. Needs a Docker engine, or starts one if ../shared/docker-engine exists.
compose-test:
	@Tests/ComposeTests/run

# The console's page in Chromium: see Tests/BrowserTests/README.md. Skipped, with a message, if there is no Chromium.
browser: setup browser-setup
	$(TRIED) --target Programs
	$(TRIED) --product console
	@Tests/BrowserTests/run "$(TRIED_PATH)"

# Makes docs/console.png and docs/report.png, shown in README: the console's live page in a real run, and its session's report.
pictures: setup browser-setup
	$(ALL_PROGRAMS)
	@HOLDFAST_PROGRAMS="$(RELEASE_PATH)" python3 -B Tests/BrowserTests/pictures.py

# Thread sanitizer over code that crosses threads. In release, because in debug it reports every Mutex.
test-sanitized: sanitized
	HOLDFAST_SANITIZED=1 $(FEW) $(SWIFT) test -c release --skip-build --sanitize=thread --scratch-path .build-tsan

sanitized: setup
	HOLDFAST_SANITIZED=1 $(SWIFT) build -c release --build-tests -Xswiftc -enable-testing --sanitize=thread \
	    --scratch-path .build-tsan

build: setup
	$(RELEASE)

lint:
	$(SWIFT) format lint --strict --recursive $(SOURCES)
	Scripts/check-cores
	Tests/Simulator/bugs --check

format:
	$(SWIFT) format --in-place --recursive $(SOURCES)

# Throughput, latency and idle cost, compared with a plain loop that receives, formats and writes; many streams; publishing: see
# Tests/Benchmarks/README.md. BENCH="--only streams"
bench: setup
	$(PROGRAMS)
	$(SWIFT) build -c release --package-path Tests/Benchmarks
	$(SWIFT) run -c release --skip-build --package-path Tests/Benchmarks benchmarks \
	    --programs "$(RELEASE_PATH)" $(BENCH)

# Crashes the real programs and checks every published sample: see Tests/CrashLab/README.md. Short by default; CRASHES=1000 runs
# long. SEED=… repeats a run's choices; CRASH_LAB="--only power-cut --output table.json".
CRASHES = 40
crash-lab: laboratory openssl
	lab="$(RELEASE_PATH)/crash-lab" && "$$lab" --self-test && \
	    "$$lab" --crashes $(CRASHES) $${SEED:+--seed $$SEED} $(CRASH_LAB)

# The programs that crash-lab and soak run.
laboratory: setup
	$(PROGRAMS)
	for product in crash-lab FaultLayer; do $(RELEASE) --product $$product || exit 1; done

# Runs the five programs in virtual time with faults from fresh seeds, and checks every sample: see Tests/Simulator/README.md.
# SEED=… repeats one; SIMULATE="--limit 600" runs longer; SEEDS= leaves out those that failed before. Files are in memory if
# possible.
SEEDS = Tests/Simulator/Seeds.txt
simulate: simulator
	if [ "$$(df --output=avail /dev/shm | tail -n 1)" -gt 1000000 ]; then export TMPDIR=/dev/shm; fi; SWIFT_DETERMINISTIC_HASHING=1 \
	    "$(RELEASE_PATH)/simulator" $(if $(SEEDS),--seeds $(SEEDS)) \
	    $${SEED:+--seed $$SEED} $(SIMULATE)

simulator: setup
	$(RELEASE) --product simulator

# Runs everything for SOAK=10m, and kills a program every 20 s: see Tests/CrashLab/README.md.
SOAK = 10m
soak: laboratory openssl
	"$(RELEASE_PATH)/crash-lab" --soak $(SOAK) $${SEED:+--seed $$SEED} $(CRASH_LAB)

# Accuracy of step detection in labelled recordings, which are not part of this repository: see Tests/StepAccuracy/README.md.
STEPS = ../shared/steps
step-accuracy: setup
	$(RELEASE) --product step-accuracy
	"$(RELEASE_PATH)/step-accuracy" $(STEPS) --left-out Tests/StepAccuracy/left-out.json \
		--plot docs/step-errors.svg --strictness-plot docs/strictness.svg

# A static site of all guides, with a search, and the libraries' reference: in ./.build-site.
docs: setup
	@Scripts/install mkdocs
	Scripts/site .build-site
	HOLDFAST_DOCS=1 $(SWIFT) package --allow-writing-to-directory .build-site/reference generate-documentation \
	    --target ZeroMQ --target Messages --target MessageBus --enable-experimental-combined-documentation \
	    --hosting-base-path reference --output-path .build-site/reference
	@echo "python3 -m http.server --directory .build-site shows it at http://127.0.0.1:8000"

# The contents of the programs as CycloneDX: Swift packages that are built in, Debian libraries that are loaded.
sbom: setup
	@Scripts/install python3
	$(ALL_PROGRAMS)
	mkdir -p packages
	Scripts/sbom "$(RELEASE_PATH)" > packages/holdfast.cdx.json

clean:
	$(SWIFT) package clean
	rm -rf .build-tsan .build-site Tests/Benchmarks/.build

setup:
	@Scripts/setup

# Makes the keys of archives in the crash laboratory.
openssl:
	@Scripts/install openssl

# The servers that tests upload archives to.
receivers:
	@Tests/ArchiverTests/Receivers/setup

# The programs that read exports in tests.
readers:
	@Tests/ExportTests/Readers/setup

# Makes networks and sets clocks in tests.
network:
	@Scripts/setup-network

# Used by commands of the documentation, together with what receivers installs.
curl:
	@Scripts/install curl

# Checks metrics in tests.
prometheus:
	@Scripts/setup-prometheus

# The MQTT broker of the tests.
broker:
	@Scripts/setup-broker

# The NATS servers of the tests.
nats:
	@Scripts/setup-nats

# The browser that tests the console's page.
browser-setup:
	@Tests/BrowserTests/setup
