import FoundationEssentials
import SystemPackage
import TestSupport

/// Clients that don't use Swift: Python with pyzmq and numpy, in a virtual environment of the tests.
enum Python {
    /// Whether a Python is installed with which to make the environment.
    static let isInstalled = Tool.path(of: "python3") != nil

    private static let packages = [
        "pyzmq", "numpy", "prometheus-client", "foxglove-sdk==0.30.3", "websockets", "mcap-ros2-support",
    ]

    /// The environment, made once per test run.
    private static let environment = Task { try await make() }

    /// Runs a script.
    /// - Returns: its output, once it has exited with 0.
    static func run(_ script: FilePath, arguments: [String] = []) async throws -> String {
        try await Tool.output(of: interpreter(), [script.string] + arguments)
    }

    /// The environment's Python.
    static func interpreter() async throws -> FilePath { try await environment.value.appending("bin/python") }

    /// Makes the environment beside the built programs, or reuses that of an earlier run.
    private static func make() async throws -> FilePath {
        let directory = try ProductsDirectory.build.appending("python-clients")
        let mark = directory.appending("complete-\(packages.joined(separator: "-"))").string
        if FileManager.default.fileExists(atPath: mark) { return directory }
        try? FileManager.default.removeItem(atPath: directory.string)
        _ = try await Tool.output(of: Tool.require("python3"), ["-m", "venv", directory.string])
        _ = try await Tool.output(
            of: directory.appending("bin/python"), ["-m", "pip", "install", "--quiet"] + packages)
        _ = FileManager.default.createFile(atPath: mark, contents: nil)
        return directory
    }
}
