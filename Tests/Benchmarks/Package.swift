// swift-tools-version: 6.2
import PackageDescription

/// A package of its own, so that nobody who builds Holdfast builds its benchmarks.
let package = Package(
    name: "benchmarks",
    dependencies: [
        .package(name: "holdfast", path: "../.."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        // The floor and the sender call libzmq as C programs do, beside the library that is measured.
        .systemLibrary(name: "CZMQ"),
        .executableTarget(
            name: "benchmarks",
            dependencies: [
                "CZMQ",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "MessageBus", package: "holdfast"),
                .product(name: "Messages", package: "holdfast"),
                .product(name: "ZeroMQ", package: "holdfast"),
            ],
            path: "Sources/Benchmarks",
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"), .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"), .treatAllWarnings(as: .error),
            ]),
    ]
)
