import FoundationEssentials
import Glibc
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Interference with a log-manager's data: it keeps its files, reports what is wrong, and continues or refuses to start.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct LogKeeperAttackTests {
    private static func bytes(_ path: FilePath) throws -> Data { try Data(contentsOf: URL(filePath: path.string)) }

    private static func write(_ data: Data, to path: FilePath) throws {
        try data.write(to: URL(filePath: path.string))
    }

    @Test func aSecondOneDoesNotStart() async throws {
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 3, in: data)
            try await LogKeeper.run(in: data) { keeper in
                let (end, text) = try await LogKeeper.refusal(in: data)
                #expect(end == .exited(78) && text.contains("a log-manager uses it"), "\(text)")
                #expect(try await keeper.paths() == paths)
            }
            // A killed log-manager does not keep the next one from starting.
            try await LogKeeper.run(in: data) { keeper in
                let found = try await keeper.paths()
                #expect(found == paths)
            }
        }
    }

    @Test func aCatalogThatCannotBeReadIsLeftAlone() async throws {
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 20, in: data)
            try await LogKeeper.run(in: data) { keeper in
                _ = try await keeper.send(LogsMarkUploaded(paths: Array(paths.prefix(5))))
                #expect(try await keeper.terminate() == .exited(0))
            }
            let path = data.appending("catalog/catalog.sqlite")
            let whole = try Self.bytes(path)
            for (what, spoiled) in [
                ("no database", Data(repeating: 7, count: whole.count)),
                ("half of one", whole.prefix(whole.count / 2)),
            ] {
                try Self.write(spoiled, to: path)
                let (end, text) = try await LogKeeper.refusal(in: data)
                #expect(end == .exited(74) && text.contains("It is left as it is"), "\(what): \(text)")
                #expect(try Self.bytes(path) == spoiled, "\(what)")
            }
            try Self.write(whole, to: path)
            try await LogKeeper.run(in: data) { keeper in
                let pending = try await keeper.send(LogsNeedingUpload()).files.map(\.path)
                #expect(pending == Array(paths.dropFirst(5)))
            }
        }
    }

    @Test func recordingsThatAreALinkAreRefused() async throws {
        try await withTemporaryDirectory { directory in
            let (data, elsewhere) = (directory.appending("data"), directory.appending("elsewhere"))
            let path = try #require(try LogKeeper.finish("a", files: 1, in: elsewhere).first)
            try FileManager.default.createDirectory(atPath: data.string, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: data.appending("recordings").string,
                withDestinationPath: elsewhere.appending("recordings").string)
            let (end, text) = try await LogKeeper.refusal(in: data)
            #expect(end == .exited(74) && text.contains("symbolic link"), "\(text)")
            #expect(FileManager.default.fileExists(atPath: elsewhere.pushing(FilePath(path)).string))
        }
    }

    /// For example, a session that was recorded by another user.
    @Test func aSessionThatItMayNotReadIsLeftAloneAndTheOthersAreKept() async throws {
        // The superuser reads everything, unless that capability is dropped: capabilities(7).
        let wrapper = geteuid() == 0 ? ["setpriv", "--bounding-set", "-dac_override,-dac_read_search"] : []
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 3, in: data) + LogKeeper.finish("b", files: 3, in: data)
            try await LogKeeper.run(in: data) { keeper in
                let found = try await keeper.paths().sorted()
                #expect(found == paths)
                let end = try await keeper.terminate()
                #expect(end == .exited(0))
            }
            let later = try LogKeeper.finish("c", files: 1, in: data)
            let directory = data.appending("recordings/a").string
            chmod(directory, 0)
            defer { chmod(directory, 0o700) }
            try await LogKeeper.run(in: data, wrapper: wrapper) { keeper in
                let found = try await keeper.paths().sorted()
                #expect(found == paths + later)
                let text = keeper.program.standardError
                #expect(text.contains("files left alone") && text.contains("Permission denied"), "\(text)")
            }
        }
    }

    @Test func requestsOfAnyKindAreAnswered() async throws {
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 10, in: data)
            try await LogKeeper.run(in: data) { keeper in
                let requester = try Requester(
                    context: keeper.context, thread: keeper.thread, endpoint: keeper.ready.reply)
                func answer(_ text: some Sequence<UInt8>) async throws -> String {
                    let frames = try await requester.request([Array(text)], timeout: .seconds(60))
                    return String(decoding: frames.first ?? [], as: UTF8.self)
                }
                let deep = String(repeating: "[", count: 5_000) + String(repeating: "]", count: 5_000)
                for params in [
                    #""bytes":-9223372036854775808"#, #""bytes":1e300"#, #""paths":[1]"#, #""paths":"x""#,
                    #""paths":[],"receipt":\#(deep)"#, #""limit":0"#, #""limit":9223372036854775807"#,
                    #""after":"x""#, #""name":"../x""#,
                ] {
                    for method in ["logs.removeOldAndUploaded", "logs.markUploaded", "logs.list"] {
                        let text = #"{"jsonrpc":"2.0","id":1,"method":"\#(method)","params":{\#(params)}}"#
                        #expect(try await answer(text.utf8).contains(#""jsonrpc":"2.0""#))
                    }
                }
                for bytes: [UInt8] in [[], [0], [0xFF, 0xFE], Array(repeating: 0x5B, count: 100_000)] {
                    #expect(try await answer(bytes).contains(#""error""#))
                }
                #expect(try await keeper.paths() == paths)
            }
        }
    }

    @Test func nothingButAFilesOwnPathIsTouched() async throws {
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 10, in: data)
            let name = try #require(FilePath(paths[0]).lastComponent?.string)
            let strange =
                [
                    "", ".", "..", "/", "../\(paths[0])", "/\(paths[0])", "./\(paths[0])", "\(paths[0])/",
                    "recordings//a/\(name)", "recordings/../recordings/a/\(name)", "recordings/a/../a/\(name)",
                    "recordings/a/\(name)\0", "recordings/a\0/\(name)", "\0", "recordings/a/session.json",
                    "recordings/a/removed.ndjson", "catalog/catalog.sqlite", paths[0].uppercased(),
                    "recordings/\(String(repeating: "x", count: 5_000))/\(name)",
                ] + (0..<9_000).map { "recordings/a/\(LogKeeper.finishedName(20 + $0))" }
            try await LogKeeper.run(in: data) { keeper in
                _ = try await keeper.send(LogsMarkUploaded(paths: paths))
                for outcome in [
                    try await keeper.send(LogsMarkUploaded(paths: strange)),
                    try await keeper.send(LogsUnmarkUploaded(paths: strange)),
                    try await keeper.send(LogsRemoveUploaded(paths: strange)),
                ] {
                    #expect(outcome.done.isEmpty)
                    #expect(Set(outcome.refused.map(\.path)) == Set(strange))
                    #expect(outcome.refused.allSatisfy { !$0.reason.isEmpty })
                }
                #expect(try await keeper.paths() == paths)
                #expect(try await keeper.send(LogsUsage()).pendingUploadBytes == 0)
            }
        }
    }

    @Test func whatLiesAmongTheFilesIsLeftAlone() async throws {
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 5, in: data)
            let session = data.appending("recordings/a")
            func path(_ name: [UInt8]) -> [CChar] {
                (Array(session.string.utf8) + [UInt8(ascii: "/")] + name + [0]).map { CChar(bitPattern: $0) }
            }
            // Names that are not UTF-8, and others that merely resemble a finished file's name.
            let names =
                [
                    [0xFF, 0xFE] + Array("-20261101000000.json".utf8),
                    Array("phone_gyro-20261101000009.json".utf8) + [0xFF],
                ]
                + ["phone_gyro-20261101000012\n.json", "-20261101000000.json"].map { Array($0.utf8) }
                + [Array(repeating: UInt8(ascii: "x"), count: 255)]
            for name in names {
                let file = open(path(name), O_WRONLY | O_CREAT, 0o644)
                #expect(file >= 0)
                close(file)
            }
            #expect(mkfifo(path(Array("phone_gyro-20261101000020.json".utf8)), 0o644) == 0)
            #expect(mkdir(path(Array("phone_gyro-20261101000021.json".utf8)), 0o755) == 0)
            #expect(symlink("/etc/passwd", path(Array("phone_gyro-20261101000022.json".utf8))) == 0)
            // The program must not block on a pipe in place of session.json.
            let other = data.appending("recordings/b")
            try FileManager.default.createDirectory(atPath: other.string, withIntermediateDirectories: true)
            #expect(mkfifo(other.appending("session.json").string, 0o644) == 0)
            try await LogKeeper.run(in: data) { keeper in
                #expect(try await keeper.paths() == paths)
                let before = try FileManager.default.contentsOfDirectory(atPath: session.string).count
                #expect(try await keeper.send(LogsRemoveOldAndUploaded(bytes: 0)).removed == paths)
                // The removed files are gone, and removed.ndjson, which lists them, is new.
                let after = try FileManager.default.contentsOfDirectory(atPath: session.string).count
                #expect(after == before - paths.count + 1)
            }
        }
    }

    @Test func itAnswersAfterItStoodStill() async throws {
        try await withTemporaryDirectory { data in
            let paths = try LogKeeper.finish("a", files: 3, in: data)
            try await LogKeeper.run(in: data) { keeper in
                try keeper.program.send(.stop)
                async let answer = keeper.paths()
                try await Task.sleep(for: .milliseconds(500))
                try keeper.program.send(.resume)
                #expect(try await answer == paths)
                #expect(try await keeper.terminate() == .exited(0))
            }
        }
    }

    /// The removal needs no space beyond the reserve.
    @Test(.enabled(if: SmallDisk.isPossible, "a small disk needs a mount namespace"))
    func filesAreRemovedFromAFullDisk() async throws {
        try await withTemporaryDirectory { directory in
            let source = directory.appending("source")
            let paths = try LogKeeper.finish("a", files: 200, in: source)
            let disk = try SmallDisk(megabytes: 8, at: directory.appending("disk"), contents: source)
            try await LogKeeper.run(in: disk.path, on: disk) { keeper in
                let data = try disk.path(in: keeper.program)
                try SmallDisk.fill(data.appending("fill"))
                let reply = try await keeper.send(LogsRemoveOldAndUploaded(bytes: 30))
                #expect(reply.removed == Array(paths.prefix(190)) && reply.totalBytes == 30)
                let removed = try Self.bytes(data.appending("recordings/a/removed.ndjson"))
                #expect(removed.count { $0 == UInt8(ascii: "\n") } == 190)
                #expect(try await keeper.terminate() == .exited(0))
            }
        }
    }
}
