import Files
import FoundationEssentials
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// A discarded session leaves nothing behind, and at every moment other programs find either all of it or nothing.
@Suite(.timeLimit(.minutes(1)))
struct DiscardTests {
    private static let second: Int64 = 1_000_000_000

    /// A recorder in virtual time with its own files: the finished session `alice`, and the running session `other`. Their
    /// samples alternate in the write-ahead log.
    private final class World {
        let data: FilePath
        private(set) var core: Recordings
        private var log: WriteAheadLog
        private var files: SessionFiles
        private var time: Int64 = 0
        private var next: [String: Int] = [:]
        private(set) var events: [RecordingEvent] = []
        private(set) var steps: [String] = []
        let keepSessions: Int64?
        /// Whether the disk has room in its reserve only.
        var isFull = false

        init(in data: FilePath, keepSessions: Int64? = nil) throws {
            self.data = data
            self.keepSessions = keepSessions
            files = SessionFiles(in: data)
            core = Self.core(log: "L", position: 0, keepSessions)
            log = WriteAheadLog(in: WriteAheadLog.directory(in: data, shard: nil), synced: 0)
        }

        private static func core(log: String, position: Int, _ keepSessions: Int64?) -> Recordings {
            Recordings(
                Recordings.Settings(
                    syncInterval: 100_000_000, recoveryLimit: second, holdLimit: 1 << 20, minimumFree: 0, shard: nil,
                    keepSessions: keepSessions), log: log, position: position)
        }

        var now: Moment {
            Moment(
                monotonic: time, date: WallTime(nanosecondsSince1970: 1_800_000_000_000_000_000 + time))
        }

        // MARK: Sessions

        @discardableResult
        func begin(_ name: String, device: String) throws -> Session {
            let record = SessionRecord(
                session: try SessionIdentifier(name), task: "Walk", step: "", streams: ["\(device)/"], format: .json,
                root: .array, status: .starting, startDate: now.date)
            let session = try core.add(record, in: SessionDirectory.create(record, in: data), at: now)
            core.open([description(of: device)], of: session, at: now)
            #expect(core.begin(session))
            try settle()
            return session
        }

        private func description(of device: String) -> StreamDescription {
            StreamDescription(
                source: "sensor-publisher", sequence: 0, device: device, stream: "gyro", epoch: "e", state: .running,
                fields: ["uptime", "x"], rate: 100, packed: false, nextSequence: next[device] ?? 0,
                replay: "tcp://10.0.0.1:5552", clock: clock, lastSample: clock.uptime, retention: 600)
        }

        private var clock: ClockReading {
            ClockReading(uptime: 1_000 + Double(time) / 1e9, date: now.date, elapsed: 1_000 + Double(time) / 1e9)
        }

        func sample(_ device: String) throws {
            let first = next[device] ?? 0
            next[device] = first + 10
            let encoder = SampleBatchEncoder(
                source: "sensor-publisher", device: device, stream: "gyro", epoch: "e", fields: ["uptime", "x"],
                isPacked: false)
            let rows = (first..<(first + 10)).flatMap { [1_000 + Double($0) / 100, Double($0)] }
            var buffer = ByteBuffer(capacity: 0)
            let reading = ClockReading(uptime: clock.uptime, date: clock.date)
            rows.withUnsafeBufferPointer {
                encoder.encode(sequence: first, count: 10, clock: reading, rows: $0, into: &buffer)
            }
            let route = Array("\(TopicArea.samples)\(device)/gyro".utf8).withUnsafeBytes { core.route(of: $0) }
            try buffer.withUnsafeBytes { frame in
                core.take(
                    ReceivedBatch(try SampleBody(frame), frame, packed: nil), try #require(route), published: nil,
                    at: now)
            }
            core.endBatches(at: now)
        }

        func stop(_ name: String) throws {
            core.stop(try SessionIdentifier(name), at: now)
            try settle()
        }

        /// A file that a person added to the session.
        func addPhoto(to name: String) throws {
            let directory = Directory(data.appending("recordings/\(name)/step-1"))
            try directory.create()
            try directory.replace("photo.jpg", with: Array("a picture of alice".utf8))
        }

        /// Writes the receipt that an archiver writes once the receiver has the session's archive.
        /// - Parameter start: when the session started; nil for its actual start, empty for a receipt without one.
        func confirmUpload(
            of name: String, startedAt start: String? = nil, made: String? = nil, lastAnnotation: Int? = nil
        ) throws {
            let archives = Directory(data.appending("archives"))
            try archives.create()
            let record = try SessionDirectory.open(SessionIdentifier(name), in: data).record()
            let text = start ?? record.startDate.utcText
            var field = text.isEmpty ? "" : #""startDate": "\#(text)", "#
            if let made { field += #""made": "\#(made)", "# }
            if let lastAnnotation { field += #""lastAnnotation": \#(lastAnnotation), "# }
            let receipt = #"{\#(field)"date": "2020-01-01T00:00:00.000000Z", "session": "\#(name)", "archives": []}"#
            try archives.replace("\(name).receipt.json", with: Array(receipt.utf8))
        }

        func discard(_ name: String, isForced: Bool = false) throws -> Recordings.Discard {
            try core.discard(try SessionIdentifier(name), isForced: isForced, at: now)
        }

        // MARK: Effects

        /// Carries out effects until none is left, including those that become due as time passes.
        /// - Parameter limit: the number of effects before the program is killed.
        /// - Returns: whether it was killed.
        @discardableResult
        func settle(killingAfter limit: Int = .max) throws -> Bool {
            var count = 0
            for _ in 0..<30 {
                while true {
                    let effects = core.takeEffects()
                    if effects.isEmpty { break }
                    for effect in effects {
                        guard count < limit else {
                            try breakOff(effect)
                            return true
                        }
                        if try carryOut(effect) { count += 1 }
                    }
                }
                time += DiscardTests.second / 10
                core.tick(at: now)
            }
            return false
        }

        /// Carries out part of an effect that was in progress when the program was killed.
        private func breakOff(_ effect: Recordings.Effect) throws {
            guard case .dispose(.erase(let name)) = effect else { return }
            let retired = Directory(data.appending("recordings/.discarded~\(name)"))
            let first = try retired.names().filter { $0 != SessionDirectory.recordName }.min()
            if let first { try FileManager.default.removeItem(atPath: retired.path.appending(first).string) }
        }

        /// - Returns: whether a kill just before the effect is worth testing.
        private func carryOut(_ effect: Recordings.Effect) throws -> Bool {
            let disposal = SessionDisposal(in: data)
            switch effect {
            case .append(let block):
                core.appended(RecordingError.thrown { () throws(RecordingError) in try log.append(block) }, at: now)
            case .removeLog(let position, let current):
                core.removedLog(try log.remove(before: position, current: current))
            case .write(let block): core.wrote(files.apply(block, at: time), at: now)
            case .writeDue: core.wrote(files.writeDue(at: time), at: now)
            case .forget(let session): files.forget(session)
            case .rebuild(let directory, let failures):
                let outcome = files.finish(
                    directory, log: WriteAheadLog.directory(in: data, shard: nil), failures: failures)
                core.rebuilt(directory.session, outcome, at: now)
            case .sync(let session):
                let sync = files.beginSync(of: session) { files in
                    files.map { file in { RecordingError.thrown { () throws(RecordingError) in try file.sync() } } }
                }
                core.synced(session, files.endSync(sync, of: session), at: now)
            case .store(let record, let directory):
                core.stored(RecordingError.thrown { () throws(RecordingError) in try directory.write(record) }, at: now)
            case .conclude(let record, let report, let directory):
                let failure = RecordingError.thrown { () throws(RecordingError) in
                    try directory.write(report)
                    try directory.write(record)
                    try directory.writeChecksums(known: record.logs.flatMap(\.files))
                }
                core.concluded(record, failure, at: now)
            case .list(let session, _, _, _): core.listed(session, next.keys.sorted().map(description(of:)), at: now)
            case .compareClocks(let session, _, let isLast): core.compared(session, [], isLast: isLast, at: now)
            case .notice(.publish(let event)):
                if let event = event as? RecordingEvent { events.append(event) }
                return false
            case .dispose(let step): try carryOut(step, disposal)
            case .release(.samples):
                isFull = false
                return false
            default: return false
            }
            return true
        }

        private func carryOut(_ step: Recordings.DisposalStep, _ disposal: SessionDisposal) throws {
            func attempt(_ name: String, _ body: () throws(RecordingError) -> Void) -> RecordingError? {
                steps.append(name)
                return RecordingError.thrown(by: body)
            }
            switch step {
            case .look(let session, let name):
                core.viewed(Result { () throws(RecordingError) in try disposal.view(session, name) }, at: now)
            case .retire(let session):
                core.disposed(attempt("retire") { () throws(RecordingError) in try disposal.retire(session) }, at: now)
            case .note(let line):
                let failure = attempt("note") { () throws(RecordingError) in
                    if isFull { throw RecordingError(.noSpace, action: "write to", advice: "Free some space.") }
                    try disposal.note(line)
                }
                core.disposed(failure, at: now)
            case .erase(let name):
                core.disposed(attempt("erase") { () throws(RecordingError) in try disposal.erase(name) }, at: now)
            case .finish(let name):
                let failure = attempt("finish") { () throws(RecordingError) in try disposal.finish(name) }
                core.finished(name, failure, at: now)
            case .search(let date, let limit):
                core.foundExpired(
                    Result { () throws(RecordingError) in
                        try disposal.uploaded(before: date, shard: nil, limit: limit)
                    }, at: now)
            }
        }

        /// Restarts the program after a kill.
        func restart() throws {
            steps = []
            let directory = WriteAheadLog.directory(in: data, shard: nil)
            let directories = try SessionDirectory.sessions(in: data).map { try SessionDirectory.open($0, in: data) }
                .filter { !$0.hasChecksums }
            try WriteAheadLog.sync(directory)
            let recovery = try SessionRecovery(of: directories, log: directory)
            #expect(recovery.damage == nil)
            core = Self.core(log: recovery.log ?? "L", position: recovery.logEnd, keepSessions)
            log = WriteAheadLog(in: directory, synced: recovery.logSynced)
            files = SessionFiles(in: data)
            for directory in directories {
                let recovered = try #require(recovery.outcomes[directory.session]).get()
                files.add(recovery.files[directory.session] ?? [:], of: directory)
                try core.resume(recovered, in: directory, at: now)
            }
            core.discard(try SessionDisposal(in: data).unfinished(), at: now)
        }

        // MARK: Leftovers

        /// The paths, under the data directory, of files whose path or contents include a word.
        func search(_ word: String) throws -> [String] {
            let all = try FileManager.default.subpathsOfDirectory(atPath: data.string)
            return try all.filter { path in
                if path.contains(word) { return true }
                let file = data.appending(path)
                guard try file.stat(followTargetSymlink: false).type == .regular else { return false }
                let bytes = try OpenFile(file, .readOnly, action: "read").bytes(in: 0..<Int.max)
                return String(decoding: bytes, as: UTF8.self).contains(word)
            }
        }

        var lines: [DiscardedSession] { get throws { try DiscardLedger(in: data).lines(after: 0) } }
    }

    /// A person's finished session beside a running one.
    private static func world(in data: FilePath, keepSessions: Int64? = nil) throws -> World {
        let world = try World(in: data, keepSessions: keepSessions)
        try world.begin("other", device: "phone")
        try world.begin("alice", device: "alice-wrist")
        for _ in 0..<5 {
            try world.sample("phone")
            try world.sample("alice-wrist")
            try world.settle()
        }
        try world.stop("alice")
        try world.addPhoto(to: "alice")
        #expect(try !world.search("alice").filter { $0.hasSuffix(".wal") }.isEmpty, "the log has both sessions")
        return world
    }

    private func with(_ body: (World) throws -> Void) throws {
        try withTemporaryDirectory { try body(Self.world(in: $0)) }
    }

    @Test func nothingOfADiscardedSessionIsLeftInTheRecordersPart() throws {
        try with { world in
            // A killed fill leaves its claim.
            try Directory(world.data.appending("recordings")).replace(".alice.claim", with: [UInt8]())
            let discard = try world.discard("alice", isForced: true)
            try world.settle()
            let line = try #require(try discard.outcome?.get())
            #expect(world.steps == ["retire", "note", "erase", "finish"])
            #expect(try world.search("alice").isEmpty)
            #expect(try world.lines == [line])
            #expect(line.reason == .forced)
            #expect(line.session == PersonalName(of: "alice"))
            #expect(line.devices == [PersonalName(of: "alice-wrist")])
            #expect(world.events.filter { $0.change == .discard }.map(\.session) == ["alice"])
            // The other session continues.
            try world.sample("phone")
            try world.stop("other")
            let report = try SessionDirectory.open(SessionIdentifier("other"), in: world.data).report()
            #expect(report.isWhole)
            #expect(report.streams.map(\.received) == [60])
        }
    }

    /// `relay lead` sets aside what a machine recorded when another machine continued it.
    @Test(arguments: [true, false])
    func partsThatWereSetAsideAreDiscardedToo(alone: Bool) throws {
        try with { world in
            let recordings = Directory(world.data.appending("recordings"))
            let aside = Directory(world.data.appending("taken-over"))
            for term in [3, 12] {
                let part = Directory(aside.path.appending("alice.before-term-\(term)"))
                try part.create()
                for name in ["session.json", "report.json"] {
                    try part.replace(name, with: Directory(recordings.path.appending("alice")).read(name))
                }
            }
            try Directory(aside.path.appending("alice.2.before-term-3")).create()
            if alone {
                try Directory.removeTree(recordings.path.appending("alice"))
                let refused = try world.discard("alice")
                try world.settle()
                #expect(refused.refusal == "wouldDelete")
            }
            let discard = try world.discard("alice", isForced: true)
            try world.settle()
            _ = try #require(try discard.outcome?.get())
            #expect(try aside.names() == ["alice.2.before-term-3"])
            #expect(try recordings.names().filter { $0.contains("alice") || $0.contains("~") }.isEmpty)
        }
    }

    /// A kill may break off the removal of a part when its record is gone already.
    @Test func aPartWithoutItsRecordIsDiscardedToo() throws {
        try with { world in
            let part = Directory(world.data.appending("taken-over/alice.before-term-3"))
            try part.create()
            try part.replace("alice-wrist_gyro.json", with: Array("[]".utf8))
            let discard = try world.discard("alice", isForced: true)
            try world.settle()
            _ = try #require(try discard.outcome?.get())
            #expect(try world.search("alice").isEmpty)
        }
    }

    /// People discard sessions to make room.
    @Test func aSessionIsDiscardedThoughTheDiskIsFull() throws {
        try with { world in
            world.isFull = true
            let discard = try world.discard("alice", isForced: true)
            try world.settle()
            _ = try #require(try discard.outcome?.get())
            #expect(world.steps == ["retire", "note", "note", "erase", "finish"])
            #expect(try world.search("alice").isEmpty)
        }
    }

    @Test func aKillAtAnyStepLeavesAllOfASessionOrNothing() throws {
        var wasWhole = 0
        var wasFinishedLater = 0
        for limit in 0... {
            var isOver = false
            try with { world in
                _ = try world.discard("alice", isForced: true)
                guard try world.settle(killingAfter: limit) else {
                    isOver = true
                    return
                }
                try world.restart()
                try world.settle()
                if try SessionDirectory.sessions(in: world.data).map(\.text).contains("alice") {
                    wasWhole += 1
                    let directory = try SessionDirectory.open(SessionIdentifier("alice"), in: world.data)
                    #expect(directory.verify().verdict == .whole)
                    #expect(try world.lines.isEmpty)
                } else {
                    wasFinishedLater += 1
                    #expect(try world.search("alice").isEmpty, "killed after \(limit) effects")
                    #expect(try Set(world.lines.map(\.session)) == [PersonalName(of: "alice")])
                }
                try world.stop("other")
                let other = try SessionDirectory.open(SessionIdentifier("other"), in: world.data)
                // Nothing describes the stream after the restart; that is a failure of the sensor, not a loss.
                #expect(other.verify().verdict != .damaged, "killed after \(limit) effects")
                #expect(try other.report().streams.map(\.received) == [50])
                #expect(try other.report().streams.map(\.lost) == [0])
            }
            if isOver { break }
        }
        #expect(wasWhole >= 2)
        #expect(wasFinishedLater >= 4)
    }

    @Test func aSessionIsKeptThatRunsOrWasNotUploaded() throws {
        try with { world in
            #expect(throws: RequestError.self) { try world.discard("other") }
            let unconfirmed = try world.discard("alice")
            let unknown = try world.discard("nobody")
            try world.settle()
            #expect(unconfirmed.refusal == "wouldDelete")
            #expect(unknown.refusal == "unknownSession")
            try world.confirmUpload(of: "alice")
            let confirmed = try world.discard("alice")
            try world.settle()
            let line = try #require(try confirmed.outcome?.get())
            #expect(line.reason == .requested)
            #expect(line.uploaded == (try WallTime(iso8601: "2020-01-01T00:00:00Z")))
            // A repeat, whose first answer may have been lost, gets the same answer as the first.
            let repeated = try world.discard("alice")
            try world.settle()
            #expect(try repeated.outcome?.get() == line)
        }
    }

    /// Expects that a session is neither discarded without force nor expires.
    private static func expectKept(_ session: String, in world: World) throws {
        let discard = try world.discard(session)
        try world.settle()
        #expect(discard.refusal == "wouldDelete")
        try world.restart()
        try world.settle()
        #expect(try SessionDirectory.sessions(in: world.data).contains(SessionIdentifier(session)))
    }

    /// The session's directory has the only copy of the file.
    @Test func aSessionIsKeptOfWhichAFileCouldNotBeArchived() throws {
        try withTemporaryDirectory { data in
            let world = try Self.world(in: data, keepSessions: 30 * 86_400 * Self.second)
            try world.settle()
            try world.confirmUpload(of: "alice")
            let archives = Directory(data.appending("archives"))
            let receipt = try archives.read("alice.receipt.json").dropLast()
            let leftOut = #", "leftOut": [{"filename": "fall.jpg", "reason": "changed"}]}"#
            try archives.replace("alice.receipt.json", with: Array(receipt) + Array(leftOut.utf8))
            try Self.expectKept("alice", in: world)
            _ = try world.discard("alice", isForced: true)
            try world.settle()
            #expect(try !SessionDirectory.sessions(in: data).contains(SessionIdentifier("alice")))
        }
    }

    /// An earlier session of this name was uploaded and removed; its receipt still exists.
    @Test(arguments: ["2019-12-31T00:00:00.000000Z", ""])
    func theReceiptOfAnEarlierSessionOfTheNameConfirmsNothing(start: String) throws {
        try withTemporaryDirectory { data in
            let world = try Self.world(in: data, keepSessions: 30 * 86_400 * Self.second)
            try world.settle()
            try world.confirmUpload(of: "alice", startedAt: start)
            try Self.expectKept("alice", in: world)
            #expect(try world.lines.isEmpty)
        }
    }

    /// The receiver does not have this session.
    @Test(arguments: [
        ("2020-01-01T00:00:00Z", nil), ("2019-12-31T12:00:00Z", "2019-12-31T11:59:59.000000Z" as String?),
        ("2019-12-31T12:00:00Z", nil), ("2019-12-31T12:00:00Z", "2019-12-31T12:00:01.000000Z"),
    ])
    func aSessionIsKeptWithAnAnnotationThatCameAfterItsArchive(annotated: String, made: String?) throws {
        let date = try WallTime(iso8601: annotated)
        let isLate = try date >= WallTime(iso8601: made ?? "2020-01-01T00:00:00Z")
        try withTemporaryDirectory { data in
            let world = try Self.world(in: data, keepSessions: 30 * 86_400 * Self.second)
            try world.confirmUpload(of: "alice", made: made)
            let directory = try SessionDirectory.open(SessionIdentifier("alice"), in: data)
            try directory.add(Annotation(number: 1, label: "fall", from: date, date: date))
            let discard = try world.discard("alice")
            if isLate {
                try world.settle()
                #expect(discard.refusal == "wouldDelete")
            }
            // The session does not expire either.
            try world.restart()
            try world.settle()
            #expect(try SessionDirectory.sessions(in: data).contains(SessionIdentifier("alice")) == isLate)
            _ = try world.discard("alice", isForced: true)
            try world.settle()
            #expect(try !SessionDirectory.sessions(in: data).contains(SessionIdentifier("alice")))
        }
    }

    /// The clock was ten years ahead when the archive was made, and was set back before the annotation.
    @Test(arguments: [(0, true), (1, false)])
    func anAnnotationAfterTheArchiveIsFoundByItsNumber(lastAnnotation: Int, isLate: Bool) throws {
        try withTemporaryDirectory { data in
            let world = try Self.world(in: data, keepSessions: 30 * 86_400 * Self.second)
            let date = try WallTime(iso8601: "2019-12-31T00:00:00Z")
            try world.confirmUpload(
                of: "alice", made: "2029-12-31T00:00:00.000000Z", lastAnnotation: lastAnnotation)
            let directory = try SessionDirectory.open(SessionIdentifier("alice"), in: data)
            try directory.add(Annotation(number: 1, label: "fall", from: date, date: date))
            _ = try world.discard("alice")
            try world.settle()
            try world.restart()
            try world.settle()
            #expect(try SessionDirectory.sessions(in: data).contains(SessionIdentifier("alice")) == isLate)
        }
    }

    /// Expects that a discard is refused, also if it is forced, and that the session `alice` stays whole.
    /// - Parameter expired: the sessions that `--keep-sessions` may discard.
    private func expectRefusals(of name: String, in world: World, expired: [String]) throws {
        for isForced in [false, true] {
            let discard = try world.discard(name, isForced: isForced)
            try world.settle()
            #expect(discard.refusal == "wouldDelete")
        }
        #expect(try SessionDirectory.open(SessionIdentifier("alice"), in: world.data).verify().verdict == .whole)
        #expect(try world.lines.isEmpty)
        let found = try SessionDisposal(in: world.data).uploaded(before: world.now.date, shard: nil, limit: 10)
        #expect(found.map(\.text) == expired)
    }

    /// A copy beside its original, as `recorder recover` makes it, has the original's record.
    @Test func aCopyOfASessionIsNotDiscarded() throws {
        try with { world in
            let recordings = world.data.appending("recordings")
            try FileManager.default.copyItem(
                atPath: recordings.appending("alice").string, toPath: recordings.appending("alice-2").string)
            try world.confirmUpload(of: "alice")
            try world.confirmUpload(of: "alice-2")
            try expectRefusals(of: "alice-2", in: world, expired: ["alice"])
        }
    }

    /// As when it was moved to a disk with more room.
    @Test func aSessionBehindASymbolicLinkIsKept() throws {
        try with { world in
            try world.confirmUpload(of: "alice")
            let link = world.data.appending("recordings/alice").string
            let moved = world.data.appending("moved").string
            try FileManager.default.moveItem(atPath: link, toPath: moved)
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: moved)
            try expectRefusals(of: "alice", in: world, expired: [])
        }
    }

    /// A recorder of another shard may start while a session is discarded.
    @Test func aSessionThatIsBeingDiscardedIsLeftToItsRecorder() throws {
        try with { world in
            let session = try SessionIdentifier("alice")
            let name = PersonalName(of: session.text)
            let (first, second) = (SessionDisposal(in: world.data), SessionDisposal(in: world.data))
            try first.retire(session)
            #expect(try second.unfinished().isEmpty)
            #expect(try first.unfinished() == [name])
            try first.erase(name)
            try first.finish(name)
            let names = try Directory(world.data.appending("recordings")).names()
            #expect(names.filter { $0.contains(name.digest) }.isEmpty)
        }
    }

    @Test func aSessionThatRunsIsCancelledByForce() throws {
        try with { world in
            let discard = try world.discard("other", isForced: true)
            try world.settle()
            #expect(try discard.outcome?.get()?.session == PersonalName(of: "other"))
            #expect(try world.search("phone").isEmpty)
            #expect(try SessionDirectory.sessions(in: world.data).map(\.text) == ["alice"])
            #expect(world.events.last { $0.session == "other" && $0.change == .status }?.status == "cancelled")
        }
    }

    @Test func aCancelledSessionNeedsNoReceipt() throws {
        try with { world in
            world.core.cancel(try #require(world.core.sessions[SessionIdentifier("other")]), at: world.now)
            try world.settle()
            let discard = try world.discard("other")
            try world.settle()
            #expect(try discard.outcome?.get()?.reason == .requested)
            #expect(try world.search("phone").isEmpty)
        }
    }

    @Test func aNameIsFreeAfterItsSessionWasDiscarded() throws {
        try with { world in
            _ = try world.discard("alice", isForced: true)
            try world.settle()
            try world.begin("alice", device: "alice-wrist")
            try world.sample("alice-wrist")
            try world.stop("alice")
            #expect(try SessionDirectory.open(SessionIdentifier("alice"), in: world.data).verify().verdict == .whole)
            _ = try world.discard("alice", isForced: true)
            try world.settle()
            #expect(try world.search("alice").isEmpty)
            #expect(try world.lines.count == 2)
        }
    }

    @Test func sessionsAreDiscardedByThemselvesSomeTimeAfterTheirReceipt() throws {
        try withTemporaryDirectory { data in
            let world = try Self.world(in: data, keepSessions: 30 * 86_400 * Self.second)
            try world.settle()
            #expect(!(try world.search("alice").isEmpty), "no receipt")
            try world.confirmUpload(of: "alice")
            // The recorder checks for expired sessions once an hour.
            try world.restart()
            try world.settle()
            #expect(try SessionDirectory.sessions(in: data).map(\.text) == ["other"])
            #expect(try world.lines.map(\.reason) == [.expired])
        }
    }
}

extension Recordings.Discard {
    /// The reason word of the refusal; nil if the request was not refused.
    fileprivate var refusal: String? {
        guard case .failure(let error) = outcome else { return nil }
        return error.data?.reason
    }
}
