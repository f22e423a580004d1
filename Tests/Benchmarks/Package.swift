// swift-tools-version: 6.2
import PackageDescription

/// A separate package, so that building Holdfast does not build its benchmarks.
let package = Package(
    name: "benchmarks",
    products: [
        .executable(name: "benchmarks", targets: ["benchmarks"]),
        .library(name: "CallCounter", type: .dynamic, targets: ["CallCounter"]),
    ],
    dependencies: [
        .package(name: "holdfast", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // The sender calls libzmq like a C program, independently of the measured library.
        .systemLibrary(name: "CZMQ"),
        // Floor, load and reader, in C++ for its shortest decimals.
        .target(
            name: "Plain", cSettings: [.treatAllWarnings(as: .error)], cxxSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("zmq"), .linkedLibrary("crypto")]),
        // Preloaded into the recorder; has no dependencies.
        .target(name: "CallCounter", cSettings: [.treatAllWarnings(as: .error)]),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "CZMQ", "Plain",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "MessageBus", package: "holdfast"),
                .product(name: "Messages", package: "holdfast"),
                .product(name: "TestSupport", package: "holdfast"),
                .product(name: "ZeroMQ", package: "holdfast"),
            ],
            path: "Sources/Benchmarks",
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .treatAllWarnings(as: .error),
            ]),
    ],
    cxxLanguageStandard: .cxx17
)
