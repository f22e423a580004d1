// swift-tools-version: 6.2
import PackageDescription

/// Swift 6 mode is the tools version's default. What is added makes imports and existentials explicit,
/// keeps `nonisolated async` functions on their caller's executor, and lets no warning pass.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
]

let package = Package(
    name: "holdfast",
    products: [
        .library(name: "ZeroMQ", targets: ["ZeroMQ"]),
        .library(name: "Messages", targets: ["Messages"]),
        .library(name: "MessageBus", targets: ["MessageBus"]),
    ],
    dependencies: [],
    targets: [
        .systemLibrary(name: "CZeroMQ", path: "Shared/CZeroMQ"),
        .target(name: "ZeroMQ", dependencies: ["CZeroMQ"], path: "Shared/ZeroMQ", swiftSettings: strict),
        .target(name: "Messages", path: "Shared/Messages", swiftSettings: strict),
        .target(
            name: "MessageBus", dependencies: ["ZeroMQ", "Messages"], path: "Shared/MessageBus",
            swiftSettings: strict),
        .testTarget(name: "ZeroMQTests", dependencies: ["ZeroMQ"], swiftSettings: strict),
        .testTarget(name: "MessagesTests", dependencies: ["Messages"], exclude: ["Golden"], swiftSettings: strict),
        .testTarget(
            name: "MessageBusTests", dependencies: ["MessageBus", "Messages", "ZeroMQ"], swiftSettings: strict),
    ]
)
