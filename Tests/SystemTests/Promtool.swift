import FoundationEssentials
import SystemPackage
import TestSupport

/// Prometheus' own judge of metrics: Scripts/setup-promtool gets it.
enum Promtool {
    private static let path = FilePath(#filePath).removingLastComponent().appending("../../.build-promtool")

    /// Whether there is one.
    static let isInstalled = FileManager.default.isExecutableFile(atPath: path.string)

    /// What it says of a page; nothing where that is as it should be.
    static func complaints(about page: String) async throws -> String {
        try await ProgramUnderTest.run(
            executable: path, arguments: ["check", "metrics"], input: Array(page.utf8)
        ) { promtool in
            let end = try await promtool.end(within: .seconds(60))
            return end == .exited(0) ? "" : "\(end): \(promtool.standardOutput)\(promtool.standardError)"
        }
    }
}
