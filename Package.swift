// swift-tools-version: 6.2
import PackageDescription

/// Swift 6 mode is the tools version's default. The added settings make imports and existentials explicit, keep `nonisolated
/// async` functions on their caller's executor, and turn warnings into errors. Releases leave out the run-time check of exclusive
/// memory access, which debug builds and those of `make test` have: with one sample a message, it takes 5 % of the recorder's
/// processor time.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .unsafeFlags(["-enforce-exclusivity=unchecked"], .when(configuration: .release)),
]

/// Test code is not optimized, which would take longer to compile than it saves; the code under test is. Its modules are not made
/// in a step of their own, which compiles everything twice, because no other module waits for them. The thread sanitizer reports
/// every `Mutex` in code that is not optimized.
let sanitized = Context.environment["HOLDFAST_SANITIZED"] != nil
let tests =
    strict
    + (sanitized ? [] : [.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"], .when(configuration: .release))])

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let configuration = Target.Dependency.product(name: "Configuration", package: "swift-configuration")
let deque = Target.Dependency.product(name: "DequeModule", package: "swift-collections")
let database = Target.Dependency.product(name: "GRDB", package: "GRDB.swift")
let heap = Target.Dependency.product(name: "HeapModule", package: "swift-collections")
let histogram = Target.Dependency.product(name: "Histogram", package: "hdrhistogram-swift")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let signals = Target.Dependency.product(name: "UnixSignals", package: "swift-service-lifecycle")
let subprocess = Target.Dependency.product(name: "Subprocess", package: "swift-subprocess")
let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

let collections = Package.Dependency.package(url: "https://github.com/apple/swift-collections", from: "1.6.0")

let package = Package(
    name: "holdfast",
    products: [
        .executable(name: "sensor-publisher", targets: ["SensorPublisher"]),
        .executable(name: "recorder", targets: ["Recorder"]),
        .executable(name: "log-manager", targets: ["LogManager"]),
        .executable(name: "step-counter", targets: ["StepCounter"]),
        .executable(name: "archiver", targets: ["Archiver"]),
        .executable(name: "console", targets: ["Console"]),
        .executable(name: "relay", targets: ["Relay"]),
        .executable(name: "holdfast-keys", targets: ["Keys"]),
        .executable(name: "crash-lab", targets: ["CrashLab"]),
        .executable(name: "step-accuracy", targets: ["StepAccuracy"]),
        .executable(name: "simulator", targets: ["Simulator"]),
        .library(name: "FaultLayer", type: .dynamic, targets: ["FaultLayer"]),
        .library(name: "ClockLayer", type: .dynamic, targets: ["ClockLayer"]),
        .library(name: "ZeroMQ", targets: ["ZeroMQ"]),
        .library(name: "Messages", targets: ["Messages"]),
        .library(name: "MessageBus", targets: ["MessageBus"]),
        .library(name: "TestSupport", targets: ["TestSupport"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        collections,
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2"),
    ],
    targets: [
        .systemLibrary(name: "CArchive", path: "Shared/CArchive"),
        .systemLibrary(name: "CCurl", path: "Shared/CCurl"),
        .systemLibrary(name: "CISAL", path: "Shared/CISAL"),
        .systemLibrary(name: "CMicroHTTPD", path: "Shared/CMicroHTTPD"),
        .systemLibrary(name: "CMosquitto", path: "Shared/CMosquitto"),
        .systemLibrary(name: "CNATS", path: "Shared/CNATS"),
        .systemLibrary(name: "COpenSSL", path: "Shared/COpenSSL"),
        .systemLibrary(name: "CQREncode", path: "Shared/CQREncode"),
        .target(
            name: "CCommit", path: "Shared/CCommit", publicHeadersPath: "include",
            // The commit that `--version` names; make sets this to the commit that is checked out.
            cSettings: (Context.environment["HOLDFAST_COMMIT"] ?? "").isEmpty
                ? [] : [.define("HOLDFAST_COMMIT", to: "\"\(Context.environment["HOLDFAST_COMMIT"] ?? "")\"")]),
        .target(name: "CExchange", path: "Shared/CExchange", publicHeadersPath: "include"),
        .target(name: "CPageFiles", path: "Shared/CPageFiles"),
        .target(name: "CTCPInfo", path: "Shared/CTCPInfo", publicHeadersPath: "include"),
        .target(name: "CLeaseGuard", path: "Shared/CLeaseGuard", publicHeadersPath: "include"),
        .systemLibrary(name: "CZeroMQ", path: "Shared/CZeroMQ"),
        .systemLibrary(name: "CZlib", path: "Shared/CZlib"),
        .target(
            name: "TextInput", dependencies: ["CZlib", system], path: "Shared/TextInput", swiftSettings: strict),
        .target(name: "ZeroMQ", dependencies: ["CTCPInfo", "CZeroMQ"], path: "Shared/ZeroMQ", swiftSettings: strict),
        .target(name: "NATS", dependencies: ["CNATS"], path: "Shared/NATS", swiftSettings: strict),
        .target(name: "PeerLimits", dependencies: ["ZeroMQ"], path: "Shared/PeerLimits", swiftSettings: strict),
        .target(name: "Messages", path: "Shared/Messages", swiftSettings: strict),
        .target(
            name: "MessageBus", dependencies: ["ZeroMQ", "Messages", deque, heap], path: "Shared/MessageBus",
            swiftSettings: strict),
        .target(
            name: "Files", dependencies: ["CExchange", "Messages", system], path: "Shared/Files", swiftSettings: strict),
        .target(name: "Hashing", dependencies: ["COpenSSL"], path: "Shared/Hashing", swiftSettings: strict),
        .target(
            name: "Compression", dependencies: ["CISAL"], path: "Shared/Compression", swiftSettings: strict),
        .target(
            name: "Recording", dependencies: ["Compression", "Files", "Hashing", "Messages", deque, system],
            path: "Shared/Recording",
            swiftSettings: strict),
        .target(
            name: "Export",
            dependencies: [
                "Compression", "Files", "Hashing", "Messages", "Recording", "StepDetection", "StepRecordings", system,
            ],
            path: "Shared/Export", swiftSettings: strict),
        .target(
            name: "Storage", dependencies: ["Files", "Recording", database, system], path: "Shared/Storage",
            swiftSettings: strict),
        .target(
            name: "Metrics", dependencies: ["WebServer", "ZeroMQ", system], path: "Shared/Metrics",
            swiftSettings: strict),
        .target(
            name: "WebServer", dependencies: ["CMicroHTTPD", "CPageFiles", "ZeroMQ", system], path: "Shared/WebServer",
            swiftSettings: strict),
        .target(
            name: "WebIdentity", dependencies: ["COpenSSL", "Files", "Messages", "ServiceKit", "WebServer", system],
            path: "Shared/WebIdentity", swiftSettings: strict),
        .target(
            name: "ServiceKit",
            dependencies: [
                "CCommit", "Messages", "MessageBus", "Metrics", "PeerLimits", "ZeroMQ", argumentParser, configuration,
                histogram, lifecycle, logging, signals, system,
            ],
            path: "Shared/ServiceKit", swiftSettings: strict),
        .target(
            name: "Runtime",
            dependencies: [
                "Files", "Messages", "MessageBus", "Metrics", "ServiceKit", "ZeroMQ", deque, lifecycle, logging,
            ], path: "Shared/Runtime", swiftSettings: strict),
        .target(
            name: "RecorderCore",
            dependencies: ["Files", "MessageBus", "Messages", "Recording", "ServiceKit", deque, logging],
            path: "Shared/RecorderCore", swiftSettings: strict),
        .target(
            name: "LogManagerCore", dependencies: ["Files", "Messages", "Recording", "ServiceKit", deque, logging],
            path: "Shared/LogManagerCore", swiftSettings: strict),
        .target(
            name: "LogStorage",
            dependencies: ["Files", "LogManagerCore", "Messages", "Recording", "Storage", database, system],
            path: "Shared/LogStorage", swiftSettings: strict),
        .target(
            name: "PublisherCore",
            dependencies: ["Messages", "SampleSources", "ServiceKit", "TextInput", deque, heap, logging],
            path: "Shared/PublisherCore", swiftSettings: strict),
        .target(
            name: "SampleSources", dependencies: ["Messages", "TextInput"], path: "Shared/SampleSources",
            swiftSettings: strict),
        .target(
            name: "SensorReaders",
            dependencies: [
                "CMosquitto", "MessageBus", "Messages", "PublisherCore", "SampleSources", "ServiceKit", "ZeroMQ",
                system,
            ],
            path: "Shared/SensorReaders", swiftSettings: strict),
        .target(
            name: "Encryption", dependencies: ["COpenSSL", "Files", "Messages", "Recording", system],
            path: "Shared/Encryption", swiftSettings: strict),
        .target(
            name: "Archives",
            dependencies: [
                "CArchive", "Compression", "Encryption", "Files", "Hashing", "Messages", "Recording", "ServiceKit",
                "SessionOverview", "StepDetection", "StepRecordings", "TextInput", system,
            ],
            path: "Shared/Archives", swiftSettings: strict),
        .target(
            name: "Import",
            dependencies: ["Archives", "Encryption", "Files", "Hashing", "Messages", "Recording", "TextInput", system],
            path: "Shared/Import", swiftSettings: strict),
        .target(
            name: "Upload",
            dependencies: [
                "CCurl", "Files", "Hashing", "Messages", "Recording", "ServiceKit", "ZeroMQ", argumentParser, system,
            ],
            path: "Shared/Upload", swiftSettings: strict),
        .target(
            name: "ArchiveStorage", dependencies: ["Archives", "Files", "Messages", "Recording", "Upload", system],
            path: "Shared/ArchiveStorage", swiftSettings: strict),
        .target(
            name: "ArchiverCore",
            dependencies: [
                "ArchiveStorage", "Encryption", "Files", "Messages", "Recording", "ServiceKit", "Upload",
                argumentParser, deque, logging,
            ],
            path: "Shared/ArchiverCore", swiftSettings: strict),
        .target(
            name: "StepDetection", dependencies: ["Messages", "TextInput"], path: "Shared/StepDetection",
            swiftSettings: strict),
        .target(
            name: "StepRecordings",
            dependencies: ["Files", "Messages", "Recording", "StepDetection", "TextInput", system],
            path: "Shared/StepRecordings", swiftSettings: strict),
        .target(
            name: "StepCounterCore",
            dependencies: ["MessageBus", "Messages", "ServiceKit", "StepDetection", deque, logging],
            path: "Shared/StepCounterCore", swiftSettings: strict),
        .target(
            name: "StepStorage",
            dependencies: [
                "Files", "Messages", "Recording", "StepCounterCore", "StepDetection", "Storage", database, system,
            ],
            path: "Shared/StepStorage", swiftSettings: strict),
        .target(
            name: "Triggers", dependencies: ["MessageBus", "Messages", "Recording", "ServiceKit", deque, logging],
            path: "Shared/Triggers", swiftSettings: strict),
        .target(
            name: "TestSupport",
            dependencies: ["Files", "Messages", "MessageBus", "Recording", "ZeroMQ", subprocess, system],
            path: "Shared/TestSupport", swiftSettings: strict),
        // The files of the page for phones, embedded in the program.
        .target(
            name: "CPhonePages", dependencies: ["CPageFiles"], path: "Shared/CPhonePages", exclude: ["Pages"]),
        .target(
            name: "PublisherEngine",
            dependencies: [
                "CPhonePages", "CQREncode", "MessageBus", "Messages", "Metrics", "PublisherCore", "Runtime",
                "SampleSources", "SensorReaders", "ServiceKit", "WebIdentity", "WebServer", "ZeroMQ", logging, system,
            ],
            path: "Shared/PublisherEngine", swiftSettings: strict),
        .executableTarget(
            name: "SensorPublisher",
            dependencies: [
                "PublisherEngine", "SampleSources", "SensorReaders", "ServiceKit", "ZeroMQ", argumentParser,
            ],
            path: "Services/SensorPublisher", swiftSettings: strict),
        .target(
            name: "RecorderEngine",
            dependencies: [
                "Files", "MessageBus", "Messages", "Metrics", "RecorderCore", "Recording", "Runtime", "ServiceKit",
                "SessionOverview", "ZeroMQ", argumentParser, logging, system,
            ],
            path: "Shared/RecorderEngine", swiftSettings: strict),
        .target(
            name: "RecorderClient",
            dependencies: [
                "MessageBus", "Messages", "Recording", "Runtime", "ServiceKit", "Triggers", "ZeroMQ", argumentParser,
                logging, signals, system,
            ],
            path: "Shared/RecorderClient", swiftSettings: strict),
        .executableTarget(
            name: "Recorder",
            dependencies: [
                "Export", "Files", "Import", "MessageBus", "Messages", "RecorderClient", "RecorderEngine", "Recording",
                "ServiceKit", "SessionOverview", "StepDetection", "Triggers", "ZeroMQ", argumentParser, system,
            ],
            path: "Services/Recorder", swiftSettings: strict),
        .target(
            name: "LogManagerEngine",
            dependencies: [
                "Files", "LogManagerCore", "LogStorage", "MessageBus", "Messages", "Metrics", "Recording", "Runtime",
                "ServiceKit", "ZeroMQ", argumentParser, logging, system,
            ],
            path: "Shared/LogManagerEngine", swiftSettings: strict),
        .executableTarget(
            name: "LogManager",
            dependencies: [
                "Files", "LogManagerEngine", "LogStorage", "Messages", "Recording", "ServiceKit", "ZeroMQ",
                argumentParser,
            ],
            path: "Services/LogManager", swiftSettings: strict),
        .target(
            name: "StepCounterEngine",
            dependencies: [
                "Files", "MessageBus", "Messages", "Metrics", "Recording", "Runtime", "ServiceKit", "StepCounterCore",
                "StepDetection", "StepStorage", "ZeroMQ", argumentParser, logging,
            ],
            path: "Shared/StepCounterEngine", swiftSettings: strict),
        .executableTarget(
            name: "StepCounter",
            dependencies: [
                "Files", "Messages", "Recording", "ServiceKit", "StepCounterEngine", "StepDetection", "StepRecordings",
                "StepStorage", "ZeroMQ", argumentParser, system,
            ],
            path: "Services/StepCounter", swiftSettings: strict),
        .target(
            name: "ArchiverEngine",
            dependencies: [
                "ArchiverCore", "Archives", "ArchiveStorage", "Encryption", "Files", "MessageBus", "Messages",
                "Metrics", "Recording", "Runtime", "ServiceKit", "Upload", "ZeroMQ", logging, system,
            ],
            path: "Shared/ArchiverEngine", swiftSettings: strict),
        .executableTarget(
            name: "Archiver",
            dependencies: [
                "ArchiverEngine", "Archives", "ArchiveStorage", "Encryption", "Files", "Messages", "Recording",
                "ServiceKit", "Upload", argumentParser, system,
            ],
            path: "Services/Archiver", swiftSettings: strict),
        .executableTarget(
            name: "Keys", dependencies: ["Messages", "ServiceKit", "ZeroMQ", argumentParser, system],
            path: "Services/Keys", swiftSettings: strict),
        .target(
            name: "Programs",
            dependencies: ["SensorPublisher", "Recorder", "LogManager", "StepCounter", "Archiver", "Keys"],
            path: "Services/Programs", swiftSettings: strict),
        .target(
            name: "ConsoleCore",
            dependencies: [
                "Export", "MessageBus", "Messages", "ServiceKit", "SessionOverview", "WebServer", deque,
                logging,
            ],
            path: "Shared/ConsoleCore", swiftSettings: strict),
        .target(
            name: "RelayCore",
            dependencies: ["Files", "MessageBus", "Messages", "Recording", "ServiceKit", deque, logging],
            path: "Shared/RelayCore", swiftSettings: strict),
        .target(
            name: "SessionOverview",
            dependencies: ["Files", "Messages", "Recording", "StepDetection", "StepRecordings"],
            path: "Shared/SessionOverview", swiftSettings: strict),
        // The console's page files, embedded in the program.
        .target(
            name: "CConsolePages", dependencies: ["CPageFiles"], path: "Shared/CConsolePages", exclude: ["Pages"]),
        .target(
            name: "ConsoleEngine",
            dependencies: [
                "CConsolePages", "ConsoleCore", "Export", "Files", "Hashing", "MessageBus", "Messages", "Metrics",
                "Recording", "Runtime", "ServiceKit", "SessionOverview", "WebIdentity", "WebServer", "ZeroMQ", logging,
                system,
            ],
            path: "Shared/ConsoleEngine", swiftSettings: strict),
        .executableTarget(
            name: "Console",
            dependencies: ["ConsoleEngine", "ServiceKit", argumentParser],
            path: "Services/Console", swiftSettings: strict),
        .target(
            name: "RelayEngine",
            dependencies: [
                "CLeaseGuard", "Files", "MessageBus", "Messages", "Metrics", "NATS", "Recording", "RelayCore",
                "Runtime", "ServiceKit", "ZeroMQ", lifecycle, logging, system,
            ],
            path: "Shared/RelayEngine", swiftSettings: strict),
        .executableTarget(
            name: "Relay",
            dependencies: [
                "Metrics", "NATS", "RelayEngine", "ServiceKit", "ZeroMQ", argumentParser, lifecycle, logging, signals,
                system,
            ],
            path: "Services/Relay", swiftSettings: strict),
        // The crash laboratory preloads this into the programs; nothing links it.
        .target(name: "FaultLayer", path: "Tests/FaultLayer"),
        // Tests preload this into programs to set their date.
        .target(name: "ClockLayer", path: "Tests/ClockLayer"),
        .executableTarget(
            name: "CrashLab",
            dependencies: ["Messages", "MessageBus", "ServiceKit", "TestSupport", "ZeroMQ", argumentParser, system],
            path: "Tests/CrashLab", exclude: ["README.md"], swiftSettings: strict),
        .executableTarget(
            name: "Simulator",
            dependencies: [
                "ArchiveStorage", "ArchiverCore", "Files", "LogManagerCore", "LogStorage", "MessageBus", "Messages",
                "PublisherCore", "RecorderCore", "Recording", "RelayCore", "SampleSources", "ServiceKit",
                "StepCounterCore", "StepDetection", "StepStorage", "TestSupport", "Upload", argumentParser, heap,
                system,
            ],
            path: "Tests/Simulator", exclude: ["Bugs", "README.md", "Seeds.txt", "bugs"], swiftSettings: strict),
        .testTarget(
            name: "LeadershipTests",
            dependencies: [
                "Files", "Messages", "Recording", "RelayCore", "RelayEngine", "ServiceKit", "TestSupport", system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "CrashLabTests", dependencies: ["CrashLab", "Messages", "TestSupport", system], swiftSettings: tests),
        .testTarget(name: "HashingTests", dependencies: ["Hashing"], swiftSettings: tests),
        .testTarget(name: "TextInputTests", dependencies: ["TestSupport", "TextInput"], swiftSettings: tests),
        .testTarget(
            name: "MetricsTests", dependencies: ["Metrics", "TestSupport", system], swiftSettings: tests),
        .testTarget(
            name: "SessionOverviewTests",
            dependencies: ["Files", "Messages", "Recording", "SessionOverview", "TestSupport", system],
            swiftSettings: tests),
        .testTarget(
            name: "ConsoleTests",
            dependencies: [
                "ConsoleCore", "ConsoleEngine", "Export", "Files", "MessageBus", "Messages", "Recording",
                "ServiceKit", "TestSupport", "WebIdentity", "WebServer", "ZeroMQ", system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "RelayCoreTests",
            dependencies: [
                "Files", "MessageBus", "Messages", "Recording", "RelayCore", "ServiceKit", "TestSupport", system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "RelayTests",
            dependencies: [
                "MessageBus", "Messages", "NATS", "Recording", "RelayCore", "RelayEngine", "ServiceKit", "TestSupport",
                "ZeroMQ", system,
            ],
            exclude: ["Credentials"], swiftSettings: tests),
        .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ"], swiftSettings: tests),
        .testTarget(
            name: "TriggersTests",
            dependencies: [
                "Files", "MessageBus", "Messages", "RecorderCore", "Recording", "ServiceKit", "TestSupport", "Triggers",
                system,
            ],
            swiftSettings: tests),
        .testTarget(name: "PeerLimitsTests", dependencies: ["PeerLimits", "ZeroMQ"], swiftSettings: tests),
        .testTarget(
            name: "MessagesTests", dependencies: ["Messages", "TestSupport"], exclude: ["Golden"],
            swiftSettings: tests),
        .testTarget(
            name: "MessageBusTests", dependencies: ["MessageBus", "Messages", "ZeroMQ"], swiftSettings: tests),
        .testTarget(
            name: "RecordingTests", dependencies: ["Files", "Messages", "Recording", "TestSupport", system],
            swiftSettings: tests),
        .testTarget(
            name: "ExportTests",
            dependencies: [
                "Compression", "Export", "Files", "Messages", "Recording", "StepDetection", "TestSupport", system,
            ],
            exclude: ["Golden", "Readers"], swiftSettings: tests),
        .testTarget(
            name: "ImportTests",
            dependencies: [
                "Archives", "Compression", "Export", "Files", "Import", "Messages", "Recording", "SessionOverview",
                "StepDetection", "StepRecordings", "TestSupport", system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "ServiceKitTests",
            dependencies: [
                "MessageBus", "Messages", "Metrics", "ServiceKit", "TestSupport", "ZeroMQ", argumentParser, lifecycle,
                logging,
                system,
            ], swiftSettings: tests),
        .testTarget(
            name: "RuntimeTests",
            dependencies: [
                "MessageBus", "Messages", "Runtime", "ServiceKit", "TestSupport", "ZeroMQ",
                logging,
            ], swiftSettings: tests),
        .testTarget(
            name: "OptionTests",
            dependencies: [
                "Archiver", "Console", "LogManager", "Recorder", "Relay", "SensorPublisher", "ServiceKit",
                "StepCounter", "TestSupport", argumentParser,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "SensorPublisherTests",
            dependencies: [
                "MessageBus", "Messages", "PublisherCore", "PublisherEngine", "SampleSources", "SensorReaders",
                "ServiceKit", "TestSupport", "ZeroMQ", lifecycle, logging, system,
            ],
            exclude: ["Outlets"], swiftSettings: tests),
        .testTarget(
            name: "RecorderTests",
            dependencies: [
                "Files", "MessageBus", "Messages", "Metrics", "RecorderClient", "RecorderCore", "RecorderEngine",
                "Recording", "ServiceKit", "SessionOverview", "TestSupport", "ZeroMQ", lifecycle, logging, system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "LogManagerTests",
            dependencies: [
                "Files", "LogManagerCore", "LogManagerEngine", "LogStorage", "MessageBus", "Messages", "Recording",
                "ServiceKit", "TestSupport", "ZeroMQ", database, lifecycle, logging, system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "StepCounterTests",
            dependencies: [
                "Files", "MessageBus", "Messages", "Recording", "SampleSources", "ServiceKit", "StepCounterCore",
                "StepCounterEngine", "StepDetection", "StepRecordings", "StepStorage", "Storage", "TestSupport",
                "ZeroMQ", database, lifecycle, logging, system,
            ],
            swiftSettings: tests),
        .testTarget(
            name: "StepCounterCoreTests",
            dependencies: [
                "MessageBus", "Messages", "ServiceKit", "StepCounterCore", "StepDetection", "StepStorage",
                "TestSupport",
            ],
            swiftSettings: tests),
        .testTarget(
            name: "ArchiverCoreTests",
            dependencies: [
                "ArchiveStorage", "ArchiverCore", "Files", "Messages", "Recording", "ServiceKit", "TestSupport",
                "Upload",
                heap,
            ], swiftSettings: tests),
        .testTarget(
            name: "ArchiverTests",
            dependencies: [
                "Archiver", "ArchiverCore", "ArchiverEngine", "Archives", "ArchiveStorage", "Encryption", "Files",
                "Hashing", "MessageBus", "Messages", "Recording", "ServiceKit", "SessionOverview", "TestSupport",
                "Upload", "ZeroMQ", argumentParser, lifecycle, logging, system,
            ],
            exclude: ["Receivers"], swiftSettings: tests),
        // Replaces malloc in the test program.
        .target(name: "AllocationCount", path: "Tests/AllocationCount"),
        .testTarget(
            name: "StepDetectionTests",
            dependencies: ["AllocationCount", "Messages", "StepDetection", "TestSupport", "TextInput"],
            swiftSettings: tests),
        .executableTarget(
            name: "StepAccuracy", dependencies: ["Messages", "StepDetection", "TextInput", argumentParser],
            path: "Tests/StepAccuracy", exclude: ["README.md", "left-out.json", "train.py"], swiftSettings: strict),
        .testTarget(
            name: "SystemTests",
            dependencies: [
                "Messages", "MessageBus", "PeerLimits", "ServiceKit", "StepDetection", "TestSupport", "ZeroMQ", system,
            ],
            exclude: ["Clients"],
            swiftSettings: tests),
    ]
)

// Runs the thread sanitizer, in release, only over code that crosses threads. The rest, with its large dependencies, would take a
// quarter of an hour without benefit.
if sanitized {
    let checked = [
        "CTCPInfo", "CZeroMQ", "ZeroMQ", "PeerLimits", "Messages", "MessageBus", "ZeroMQTests", "PeerLimitsTests",
        "MessageBusTests", "MutexLayer",
    ]
    package.targets.append(.target(name: "MutexLayer", path: "Tests/MutexLayer"))
    package.targets.first { $0.name == "ZeroMQTests" }?.dependencies.append("MutexLayer")
    package.targets.removeAll { !checked.contains($0.name) }
    package.products.removeAll { !checked.contains($0.name) }
    package.dependencies = [collections]
}

// Container images build only the programs, without Tests.
if Context.environment["HOLDFAST_PROGRAMS_ONLY"] != nil {
    package.targets.removeAll {
        $0.type == .test || $0.name == "TestSupport" || $0.path?.hasPrefix("Tests/") ?? false
    }
    let there = Set(package.targets.map(\.name))
    package.products.removeAll { product in
        let targets = (product as? Product.Executable)?.targets ?? (product as? Product.Library)?.targets ?? []
        return !there.isSuperset(of: targets)
    }
}

// HOLDFAST_TESTS=RecorderTests,MessagesTests builds and runs only these tests.
if let names = Context.environment["HOLDFAST_TESTS"] {
    let chosen = Set(names.split(separator: ",").map(String.init))
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}

// Only `make docs` needs the documentation plugin.
if Context.environment["HOLDFAST_DOCS"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin", from: "1.5.0"))
}
