import FoundationEssentials
import SystemPackage
import TestSupport
import Testing

/// The servers and clients for upload tests. Receivers/setup installs them, and `make test` runs that script.
enum ReceiverPrograms {
    /// A server's first line once it listens: how to reach it.
    struct Ready: Codable, Sendable {
        let endpoint: String
        var key: String?
        var secret: String?
    }

    /// Whether the programs are installed.
    static let areThere = FileManager.default.fileExists(atPath: directory.appending("complete").string)
    /// Why a test was skipped.
    static let areMissing: Comment = "uploads are NOT tested here: run Tests/ArchiverTests/Receivers/setup first"

    static let nginx = directory.appending("bin/nginx")

    static let python = directory.appending("python/bin/python")

    /// A script in the directory `Receivers` beside this file.
    private static func script(_ name: String) -> FilePath { tests.appending("Receivers").appending(name) }

    /// Runs server scripts while the body runs. They start at the same time.
    /// - Parameters:
    ///   - scripts: the name and the arguments of each.
    ///   - body: receives the servers' first lines, in the same order.
    static func serve(
        _ scripts: [[String]], _ body: ([Ready]) async throws -> Void
    ) async throws {
        try await serve(scripts[...], started: [], body)
    }

    private static func serve(
        _ scripts: ArraySlice<[String]>, started: [ProgramUnderTest], _ body: ([Ready]) async throws -> Void
    ) async throws {
        guard let first = scripts.first, let name = first.first else {
            var ready: [Ready] = []
            for server in started {
                let line = try await server.line("the server's endpoint", within: .seconds(60)) { $0.hasPrefix("{") }
                ready.append(try JSONDecoder().decode(Ready.self, from: Data(line.utf8)))
            }
            return try await body(ready)
        }
        try await ProgramUnderTest.run(
            executable: python, arguments: [script(name).string] + first.dropFirst()
        ) { server in
            try await serve(scripts.dropFirst(), started: started + [server], body)
        }
    }

    private static let tests = FilePath(#filePath).removingLastComponent()
    private static let directory =
        tests.removingLastComponent().removingLastComponent().appending(".build-receivers")
}
