import FoundationEssentials
import MessageBus
import Messages
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// Three archivers, real programs, on one data directory; one is killed during an upload, and right after one.
@Suite(.serialized, .timeLimit(.minutes(3)))
struct SeveralArchiversTests {
    private static let sessions = (10..<40).map { "session-\($0)" }

    /// When an archiver is killed.
    private enum Moment: CaseIterable, Sendable {
        /// During the copy of an archive.
        case copying
        /// The receiver has the archive under its name, and the receipt does not exist yet, or has just been written.
        case named
        /// The archiver is not killed.
        case never
    }

    /// A copy that an archiver began at the receiver: `.<archive>.<host>.<process>.<number>.part`.
    private struct Copy: Hashable {
        let archive: String
        let process: Int32

        init?(_ name: String) {
            let parts = name.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 7, parts[6] == "part", let process = Int32(parts[4]) else { return nil }
            archive = "\(parts[1]).\(parts[2])"
            self.process = process
        }
    }

    /// The part of a receipt that is checked.
    private struct Receipt: Codable {
        struct Confirmed: Codable {
            struct Archive: Codable {
                let name: String
                let sha256: String
            }
            struct Confirmation: Codable {
                let wasThere: Bool
            }
            let archive: Archive
            let confirmation: Confirmation
        }
        let archives: [Confirmed]
        let marked: String?
        let unmarked: [LogFileOutcome.Refusal]?
    }

    /// A data directory with finished sessions, and the receiver of their archives.
    private struct Place {
        let data: FilePath
        let receiver: FilePath
        let keeper: LogKeeper
        let created: CreatedFiles

        /// The copies begun so far.
        func copies() throws -> [Copy] { try created.names().compactMap { Copy($0) } }

        func receipt(_ session: String) throws -> Receipt? {
            let path = data.appending("archives/\(session).receipt.json").string
            guard let bytes = FileManager.default.contents(atPath: path) else { return nil }
            return try JSONDecoder().decode(Receipt.self, from: bytes)
        }

        /// Whether every session has a receipt and its files are marked.
        func isSettled() throws -> Bool { try sessions.allSatisfy { try receipt($0)?.marked != nil } }
    }

    private static func withPlace(_ body: @Sendable (Place) async throws -> Void) async throws {
        try await Rig.run(publishing: ["--signal", "sine", "--device", "phone", "--stream", "gyro", "--rate", "200"]) {
            rig in
            let data = rig.directory
            let receiver = data.appending("receiver")
            try FileManager.default.createDirectory(atPath: receiver.string, withIntermediateDirectories: true)
            for session in sessions {
                _ = try await rig.recordings.send(
                    RecordingStart(session: session, streams: ["phone/"], format: "csv"), timeout: .seconds(60))
            }
            try await eventually("some samples") {
                let state = try await rig.recordings.send(
                    RecordingStatus(session: sessions[sessions.count - 1]), timeout: .seconds(60))
                return state.logs.reduce(0) { $0 + $1.samples } >= 200
            }
            for session in sessions {
                _ = try await rig.recordings.send(RecordingStop(session: session), timeout: .seconds(60))
            }
            try await LogKeeper.run(in: data, ["--subscribe", rig.recorderReady.publish, "--rescan-interval", "1s"]) {
                keeper in
                try await body(
                    Place(data: data, receiver: receiver, keeper: keeper, created: try CreatedFiles(in: receiver)))
            }
        }
    }

    /// Runs an archiver until everything is done, or until the moment to kill it.
    /// - Returns: its process, and its log.
    private static func archiver(in place: Place, killedWhen moment: Moment) async throws -> (Int32, String) {
        try await ProgramUnderTest.run(
            "archiver",
            arguments: [
                "--data", place.data.string, "--subscribe", "tcp://127.0.0.1:9", "--log-manager",
                place.keeper.ready.reply, "--upload-to", "file://\(place.receiver)", "--rescan-interval", "1s",
                // Slow enough that a copy takes a while, and that no archiver does everything alone.
                "--upload-limit", "20KB", "--log-format", "json",
            ] + ProgramUnderTest.anyPorts, in: place.data
        ) { program in
            _ = try await program.ready()
            guard let process = program.processIdentifier else { throw TestFailure("the archiver has ended") }
            try await eventually("the end of archiver \(process), killed when \(moment)", within: .seconds(120)) {
                let copies = try place.copies().filter { $0.process == process }
                switch moment {
                case .copying: return !copies.isEmpty
                case .named:
                    let objects = try FileManager.default.contentsOfDirectory(atPath: place.receiver.string)
                    // On a busy machine, the others may finish before this one is ready.
                    return try copies.contains { objects.contains($0.archive) } || place.isSettled()
                case .never: return try place.isSettled()
                }
            }
            try program.send(moment == .never ? .terminate : .kill)
            #expect(try await program.end() == (moment == .never ? .exited(0) : .killed(by: 9)))
            return (process, program.standardError)
        }
    }

    @Test func threeArchiversDoEverySessionOnceWhateverIsKilled() async throws {
        try await Self.withPlace { place in
            var logs = ""
            var killed: [Int32] = []
            var others: [Int32] = []
            try await withThrowingTaskGroup(of: [(Moment, Int32, String)].self) { archivers in
                // The first archiver is restarted after each kill.
                for moments in [Moment.allCases, [.never], [.never]] {
                    archivers.addTask {
                        var ended: [(Moment, Int32, String)] = []
                        for moment in moments {
                            let (process, log) = try await Self.archiver(in: place, killedWhen: moment)
                            ended.append((moment, process, log))
                        }
                        return ended
                    }
                }
                for try await ended in archivers {
                    for (moment, process, log) in ended {
                        if moment == .never { others.append(process) } else { killed.append(process) }
                        logs += log
                    }
                }
            }
            try await Self.expectEachOnce(in: place, killed: Set(killed))
            let copies = try place.copies()
            // On a busy machine, an archiver may start after everything is done.
            #expect(Set(copies.map(\.process)).count >= 3, "\(killed), \(others)")
            for session in Self.sessions {
                let lines = logs.split(separator: "\n").filter { $0.contains("\"\(session)\"") }
                for message in ["archive made", "archive uploaded", "stream files marked"] {
                    // A program may be killed between an action and its log message.
                    #expect(lines.count { $0.contains("\"\(message)\"") } <= 1, "\(session): \(message) twice")
                }
            }
        }
    }

    /// Checks that each session has one archive, one object and one receipt, and that no copy was unnecessary.
    private static func expectEachOnce(in place: Place, killed: Set<Int32>) async throws {
        func names(_ path: FilePath) throws -> [String] {
            // Unfinished files of a killed archiver are hidden; they are removed when their session is next examined.
            try FileManager.default.contentsOfDirectory(atPath: path.string).filter { !$0.hasPrefix(".") }.sorted()
        }
        #expect(try names(place.receiver) == sessions.map { "\($0).zip" })
        #expect(
            try names(place.data.appending("archives")) == sessions.flatMap { ["\($0).receipt.json", "\($0).zip"] })
        let copies = try place.copies()
        for session in sessions {
            let receipt = try #require(try place.receipt(session))
            #expect(receipt.archives.map(\.archive.name) == ["\(session).zip"])
            #expect(receipt.unmarked == nil)
            let sha256 = try await Tool.sha256(place.receiver.appending("\(session).zip"))
            #expect(sha256 == receipt.archives.first?.archive.sha256)
            // Any archiver that was not killed either copied the archive or found it there.
            let own = copies.filter { $0.archive == "\(session).zip" }
            let finished = own.filter { !killed.contains($0.process) }
            #expect(!own.isEmpty && finished.count <= 1, "\(session) was copied by \(own)")
            // A killed archiver may have named its copy and left the temporary name: the next archiver takes that over first,
            // which looks like a copy of its own.
            if finished.count == 1, own.count == 1 {
                #expect(receipt.archives.first?.confirmation.wasThere == false, "\(session)")
            }
        }
        let pending = try await place.keeper.send(LogsNeedingUpload())
        #expect(pending.files.isEmpty)
    }
}
