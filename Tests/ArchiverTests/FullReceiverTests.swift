import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import ArchiveStorage

/// Receivers whose disk is really full: archives stay here until there is room, and then the uploads continue by themselves.
@Suite(
    .enabled(if: ReceiverPrograms.areThere, ReceiverPrograms.areMissing),
    .enabled(if: SmallDisk.isPossible, "full receivers are NOT tested here: that needs a mount namespace"),
    .timeLimit(.minutes(2)))
struct FullReceiverTests {
    /// The bytes of every file of a directory, by name.
    private static func contents(of directory: Directory) throws -> [String: [UInt8]] {
        try directory.names().reduce(into: [:]) { $0[$1] = try directory.read($1) }
    }

    /// If its disk is full, nginx answers only 500. A directory reports the error itself.
    @Test(arguments: [(true, "500"), (false, "No space left")])
    func anArchiveWaitsUntilThereIsRoom(overWeb: Bool, reason: String) async throws {
        try await SmallServer.run(megabytes: 8) { server in
            try await withTemporaryDirectory { data in
                let session = try ArchivedSession(in: data)
                try session.addLog()
                var random = SplitMix(seed: 6)
                try session.add("noise", (0..<3_000_000).map { _ in UInt8.random(in: 0...255, using: &random) })
                try session.finish()
                try server.fill(leaving: 1_000_000)
                let recorded = session.directory.directory
                let before = try Self.contents(of: recorded)
                let manager = LogManagerStandIn(data: data)
                let place = overWeb ? server.address : "file://\(server.files)"
                let options = ["upload-to": place, "keep-archives": "0s", "keep-recordings": "0s"]
                try await ArchiverUnderTest.run(in: data, manager: manager, options: options) { archiver in
                    let status = try await eventualValue("a refusal") {
                        let status = try await archiver.status("s1")
                        return status.reason == nil ? nil : status
                    }
                    #expect(status.state == .uploading)
                    #expect(status.reason?.contains(reason) == true, "\(status.reason ?? "")")
                    #expect(status.reason?.contains("space") == true, "\(status.reason ?? "")")
                    try await eventually("the archive is told of") { archiver.changes(of: "s1") == ["made"] }
                    let contents = try Self.contents(of: recorded)
                    #expect(contents == before)
                    #expect(Directory(data.appending("archives")).contains("s1.zip"))
                    #expect(!Directory(server.files).contains("s1.zip"))
                    try server.empty()
                    try await eventually("both removals") {
                        archiver.changes(of: "s1") == ["made", "uploaded", "marked", "removed", "removed"]
                    }
                }
                let receipt = try WireCoding.decode(
                    ArchiveReceipt.self, from: Directory(data.appending("archives")).read("s1.receipt.json"))
                let (bytes, sha256) = try FinishedFile.measure(server.files.appending("s1.zip"))
                #expect(receipt.archives.map(\.archive.bytes) == [bytes])
                #expect(receipt.archives.map(\.archive.sha256) == [sha256])
                #expect(try Directory(server.files).names() == ["s1.zip"])
            }
        }
    }
}
