# Everything a developer or CI does goes through here. Each target does its own set-up.
.POSIX:
.PHONY: run deb exports keys test test-release test-sanitized sanitized build lint format bench crash-lab laboratory soak simulate simulator step-accuracy docs sbom clean setup openssl receivers readers network prometheus broker nats curl
.PHONY: up down logs compose-test browser browser-setup pictures

SWIFT = swift
SOURCES = Package.swift Services Shared Tests
CHECKS = --explicit-target-dependency-import-check error
# How tests are built: optimized, as what people run is, which makes those that compute three times as fast; with what `@testable`
# needs, and with the check of accesses to memory that a release leaves out. TESTED= builds them in debug.
TESTED = -c release -debug-info-format none -Xswiftc -enable-testing -Xswiftc -enforce-exclusivity=checked
# ONE_BUILD=1 builds all programs with these options, also what is only tried: .ci/run makes all from nothing, and so compiles
# them once.
ONE_BUILD ?=
# What is only tried is built in debug: from nothing, that takes less than half of the time.
TRIED = $(if $(ONE_BUILD),$(TESTED))
# The commit that --version names, if this is a repository.
COMMIT = $$(git describe --always --dirty 2>/dev/null)
# The Swift library is linked in: less memory, a faster start, and programs that run where no Swift is installed.
# The same commit gives the same bytes: the compiler orders some of what it makes by hashes, and by where things lie in memory, so
# both are the same in each build. Where addresses can't be kept from being random, as in some containers, a few instructions differ.
STEADY = SWIFT_DETERMINISTIC_HASHING=1 $$(setarch --addr-no-randomize true 2>/dev/null && echo setarch --addr-no-randomize)
# Without what a debugger needs, which packages and images don't have either: that takes a quarter less time.
RELEASE = $(if $(ONE_BUILD),$(SWIFT) build $(TESTED) $(CHECKS),HOLDFAST_COMMIT="$(COMMIT)" $(STEADY) $(SWIFT) build \
    -c release --static-swift-stdlib -debug-info-format none $(CHECKS))

# All programs in one build: with --product given several times, only the last one is built.
PROGRAMS = $(RELEASE) --target Programs
# The same with the console and the relay, which the programs do not wait for.
ALL_PROGRAMS = $(PROGRAMS) && $(RELEASE) --product console && $(RELEASE) --product relay

# All five programs and the console: records a walk from end to end, counts its steps, archives it. REPLAY=file.csv replays one of yours; DURATION=20s; DATA=./data.
run: setup
	@echo "run: building the programs, which takes some minutes the first time" >&2
	$(SWIFT) build --target Programs $(CHECKS) $(TRIED)
	$(SWIFT) build --product console $(CHECKS) $(TRIED)
	@Scripts/run "$$($(SWIFT) build $(TRIED) --show-bin-path)"

# A Debian package and a .tar.gz in ./packages: see docs/install.md.
deb: setup
	@Scripts/install dpkg-shlibdeps
	$(ALL_PROGRAMS)
	packaging/build "$$($(SWIFT) build -c release --show-bin-path)" packages

# Exports what make run recorded, in every format, with the programs of a release build.
exports: setup
	$(PROGRAMS)
	@Scripts/export "$$($(SWIFT) build -c release --show-bin-path)"

# Makes the missing keys that protect connections, in KEYS=./keys: see docs/security.md.
KEYS = ./keys
keys: setup
	$(RELEASE) --product holdfast-keys
	@"$$($(SWIFT) build -c release --show-bin-path)/holdfast-keys" make '$(KEYS)'

# What computes comes first and the real programs last: each would keep the others from their processor. The triggers of hours
# compute for a minute, and nothing that waits for a socket gets a thread beside them.
COMPUTING = ArchiverCoreTests|CrashLabTests|ExportTests|HashingTests|ImportTests|MessagesTests|RecordingTests|RelayCoreTests|StepCounterCoreTests|StepDetectionTests|TextInputTests
# These take the processors for themselves: hundreds of devices, archives, thousands of files, full disks, floods of samples.
CROWDED = ^SystemTests\.(StepCounterTests|ArchivingTests|SeveralArchiversTests|ManyFilesTests|AcceptanceTests|GapTests)
# Attacks.
HOSTILE = ^SystemTests\.Hostile
# Few at a time: all tests of a group at once would keep each other from the processors until their time is over.
FEW = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8
TEST = $(FEW) $(SWIFT) test --skip-build $(TESTED)
# Each attack wants a processor, and its victim another.
FEWER = SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=3
test: setup receivers readers network prometheus broker nats curl
	$(SWIFT) build --build-tests $(CHECKS) $(TESTED)
	$(TEST) --filter '^($(COMPUTING))\.'
	$(TEST) --filter '^LogManagerTests\.'
	$(TEST) --filter '^RecorderTests\.'
	$(TEST) --filter '^StepCounterTests\.'
	$(TEST) --filter '^TriggersTests\.'
	$(TEST) --skip '^($(COMPUTING)|LogManagerTests|RecorderTests|StepCounterTests|TriggersTests|SystemTests)\.'
	$(TEST) --filter '^SystemTests\.' --skip '$(CROWDED)|$(HOSTILE)'
	$(TEST) --filter '$(CROWDED)'
	$(FEWER) $(SWIFT) test --skip-build $(TESTED) --filter '$(HOSTILE)'

# The tests of the real programs on other builds of them, such as HOLDFAST_PROGRAMS=/usr/bin of a package; of a release, unless given.
test-release: setup receivers readers network prometheus broker nats curl
	$(SWIFT) build --build-tests $(CHECKS) $(TESTED)
	[ -n "$$HOLDFAST_PROGRAMS" ] || $(PROGRAMS)
	export HOLDFAST_PROGRAMS="$${HOLDFAST_PROGRAMS:-$$($(SWIFT) build -c release --show-bin-path)}"; \
	    $(TEST) --filter '^SystemTests\.' --skip '$(HOSTILE)' && \
	    $(FEWER) $(SWIFT) test --skip-build $(TESTED) --filter '$(HOSTILE)'

# The whole system in containers: see compose/README.md.
up:
	docker compose up --build --detach

down:
	docker compose down

logs:
	docker compose logs --follow

# Uses the containers as people do, kills included. Needs a Docker engine, or makes one where ../shared/docker-engine is.
compose-test:
	@Tests/ComposeTests/run

# The console's page in Chromium: see Tests/BrowserTests/README.md. Skipped, with a message, if there is no Chromium.
browser: setup browser-setup
	$(SWIFT) build --target Programs $(CHECKS) $(TRIED)
	$(SWIFT) build --product console $(CHECKS) $(TRIED)
	@Tests/BrowserTests/run "$$($(SWIFT) build $(TRIED) --show-bin-path)"

# docs/console.png and docs/report.png: the console's live page of a real run and the report of its session, as README shows them.
pictures: setup browser-setup
	$(ALL_PROGRAMS)
	@HOLDFAST_PROGRAMS="$$($(SWIFT) build -c release --show-bin-path)" python3 -B Tests/BrowserTests/pictures.py

# Thread sanitizer over what crosses threads. In release: in debug it reports every Mutex. It remembers what threads did for long:
# of an access that it forgot it does not know the functions, which suppressions go by.
test-sanitized: sanitized
	HOLDFAST_SANITIZED=1 $(FEW) TSAN_OPTIONS=suppressions=$(CURDIR)/Tests/thread-sanitizer.supp:history_size=7 \
	    $(SWIFT) test -c release --skip-build --sanitize=thread --scratch-path .build-tsan

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

# Throughput, latency and idle cost, beside a plain loop that receives, formats and writes; many streams; publishing:
# see Tests/Benchmarks/README.md. BENCH="--only streams"
bench: setup
	$(PROGRAMS)
	$(SWIFT) build -c release --package-path Tests/Benchmarks
	$(SWIFT) run -c release --skip-build --package-path Tests/Benchmarks benchmarks \
	    --programs "$$($(SWIFT) build -c release --show-bin-path)" $(BENCH)

# Crashes the real programs and checks every sample that was published: see Tests/CrashLab/README.md. Short by default.
# CRASHES=1000 for long; SEED=… repeats a run's choices; CRASH_LAB="--only power-cut --output table.json".
CRASHES = 40
crash-lab: laboratory openssl
	lab="$$($(SWIFT) build -c release --show-bin-path)/crash-lab" && "$$lab" --self-test && \
	    "$$lab" --crashes $(CRASHES) $${SEED:+--seed $$SEED} $(CRASH_LAB)

# What crash-lab and soak run.
laboratory: setup
	$(PROGRAMS)
	for product in crash-lab FaultLayer; do $(RELEASE) --product $$product || exit 1; done

# The five programs in virtual time, under faults from fresh seeds, and every sample judged: see Tests/Simulator/README.md.
# SEED=… runs one again; SIMULATE="--limit 600" runs longer; SEEDS= leaves out those that failed once. Files are in memory if they may be.
SEEDS = Tests/Simulator/Seeds.txt
simulate: simulator
	if [ "$$(df --output=avail /dev/shm | tail -n 1)" -gt 1000000 ]; then export TMPDIR=/dev/shm; fi; SWIFT_DETERMINISTIC_HASHING=1 \
	    "$$($(SWIFT) build -c release --show-bin-path)/simulator" $(if $(SEEDS),--seeds $(SEEDS)) \
	    $${SEED:+--seed $$SEED} $(SIMULATE)

simulator: setup
	$(RELEASE) --product simulator

# Everything on for SOAK=10m, a program killed every 20 s: see Tests/CrashLab/README.md.
SOAK = 10m
soak: laboratory openssl
	"$$($(SWIFT) build -c release --show-bin-path)/crash-lab" --soak $(SOAK) $${SEED:+--seed $$SEED} $(CRASH_LAB)

# How well steps are detected in labelled recordings, which do not belong to this repository: see Tests/StepAccuracy/README.md.
STEPS = ../shared/steps
step-accuracy: setup
	$(RELEASE) --product step-accuracy
	"$$($(SWIFT) build -c release --show-bin-path)/step-accuracy" $(STEPS) --left-out Tests/StepAccuracy/left-out.json \
		--plot docs/step-errors.svg --strictness-plot docs/strictness.svg

# A static site of all guides, with a search, and the reference of the libraries: in ./.build-site.
docs: setup
	@Scripts/install mkdocs
	Scripts/site .build-site
	HOLDFAST_DOCS=1 $(SWIFT) package --allow-writing-to-directory .build-site/reference generate-documentation \
	    --target ZeroMQ --target Messages --target MessageBus --enable-experimental-combined-documentation \
	    --hosting-base-path reference --output-path .build-site/reference
	@echo "python3 -m http.server --directory .build-site shows it at http://127.0.0.1:8000"

# What is in the programs, as CycloneDX: Swift packages that are built in, Debian libraries that are loaded.
sbom: setup
	@Scripts/install python3
	$(ALL_PROGRAMS)
	mkdir -p packages
	Scripts/sbom "$$($(SWIFT) build -c release --show-bin-path)" > packages/holdfast.cdx.json

clean:
	$(SWIFT) package clean
	rm -rf .build-tsan .build-site Tests/Benchmarks/.build

setup:
	@Scripts/setup

# What the crash laboratory makes the keys of archives with.
openssl:
	@Scripts/install openssl

# What the tests upload archives to.
receivers:
	@Tests/ArchiverTests/Receivers/setup

# What exports are read with.
readers:
	@Tests/ExportTests/Readers/setup

# What tests make networks and clocks with.
network:
	@Scripts/setup-network

# What commands of the documentation use, beside what receivers installs.
curl:
	@Scripts/install curl

# What tests have metrics judged by.
prometheus:
	@Scripts/setup-prometheus

# What tests take messages from.
broker:
	@Scripts/setup-broker

# What tests carry streams over.
nats:
	@Scripts/setup-nats

# What the console's page is tested with.
browser-setup:
	@Tests/BrowserTests/setup
