// swift-tools-version: 6.2
import PackageDescription

/// A package of its own, so that nobody who builds Holdfast builds its benchmarks.
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
        // The sender calls libzmq as C programs do, beside the library that is measured.
        .systemLibrary(name: "CZMQ"),
        // Floor, load and reader, in C++ for its shortest decimals.
        .target(
            name: "Plain", cSettings: [.treatAllWarnings(as: .error)], cxxSettings: [.treatAllWarnings(as: .error)],
            linkerSettings: [.linkedLibrary("zmq"), .linkedLibrary("crypto")]),
        // Preloaded into the recorder; linked with nothing.
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
