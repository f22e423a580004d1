import Files
import FoundationEssentials
import Messages
import Recording
import ServiceKit
import Synchronization
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A recorder that is killed, or cannot write, leaves enough to resume.
@Suite(.timeLimit(.minutes(1)))
struct CutOffTests {
    @Test func whatCanNotBeStoredAtTheEndIsStoredLater() async throws {
        try await RecorderUnderTest.record { recorder, publisher in
            try publisher.sample(50)
            try await recorder.hasAll(of: publisher)
            // Blocks each replacement of session.json, even for root.
            let inTheWay = try recorder.path(".session.json.new")
            // A replacement may be in progress.
            try await eventually("a way to block it") {
                (try? FileManager.default.createDirectory(
                    atPath: inTheWay.appending("x").string, withIntermediateDirectories: true)) != nil
            }
            #expect(try await recorder.stop().status == "failed")
            try FileManager.default.removeItem(atPath: inTheWay.string)
            try await eventually("the session's end on disk") { try recorder.directory().hasChecksums }
            let record = try recorder.directory().record()
            #expect(record.status == .failed)
            #expect(record.logs.first?.files.map(\.samples) == [publisher.next])
            #expect(try await recorder.records().sequences == Array(0..<publisher.next))
        }
    }

    @Test func anEpochWhoseFirstBatchEndsInAPauseHasItsPlace() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { data in
            try await RecorderUnderTest.run(listeningTo: [publisher], data: data.appending("data")) { recorder in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                let old = publisher.next
                let oldEpoch = publisher.epoch
                _ = try await recorder.send(RecordingPause(session: "s"))
                try await eventually("the pause in session.json") {
                    try !recorder.directory().record().pauses.isEmpty
                }
                let record = try recorder.directory().record()
                let pause = try #require(record.pauses.first)
                let now = ClockReading.now
                let sincePause =
                    Double(now.date.nanosecondsSince1970 - record.startDate.nanosecondsSince1970) / 1e9 - pause.from
                publisher.restart()
                // A batch that includes samples from before the pause.
                try publisher.sample(20_000, uptime: now.uptime - sincePause - 0.01)
                try await eventually("some of the new epoch") {
                    try await recorder.log(of: publisher)?.samples ?? 0 > old
                }
                let written = try #require(try await recorder.log(of: publisher)?.samples)
                #expect(written - old < 20_000)

                // Simulates a kill right after the next commit: requests that wait for that commit are answered before it. The
                // write-ahead log is copied last, because it must not be older than the documents that refer to it.
                var copies = 0
                let positions = try await eventualValue("the new epoch in the log") { () -> [Marker.Position]? in
                    let copy = data.appending("copy-\(copies)")
                    copies += 1
                    try FileManager.default.createDirectory(atPath: copy.string, withIntermediateDirectories: true)
                    do {
                        for name in ["s", ".wal"] {
                            try FileManager.default.copyItem(
                                atPath: recorder.data.appending("recordings").appending(name).string,
                                toPath: copy.appending(name).string)
                        }
                    } catch let error as CocoaError where error.code == .fileNoSuchFile {
                        // A file with a temporary name may be renamed during the copy.
                        return nil
                    }
                    let session = try SessionDirectory(at: copy.appending("s"))
                    let recovery = try SessionRecovery(of: [session], log: Directory(copy.appending(".wal")))
                    let positions = try recovery.outcomes.values.first?.get().logs.values.first?.positions ?? []
                    return positions.contains { $0.epoch == publisher.epoch } ? positions : nil
                }
                #expect(positions.map(\.epoch) == [oldEpoch, publisher.epoch])
                // The samples of the pause were processed too.
                #expect(positions.map(\.next) == [old, 20_000])
            }
        }
    }

    @Test func aSessionThatCannotBeContinuedIsListedAsInterrupted() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let lives = (0..<2).map { directory.appending("\($0)") }
            try await RecorderUnderTest.run(listeningTo: [publisher], data: lives[0]) { recorder in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                try await eventually("session.json") { try !recorder.directory().record().logs.isEmpty }
                let entry = try #require(try await recorder.send(RecordingList()).recordings.first)
                #expect(entry.status == "running" && entry.isInterrupted == nil)
                try await copySession("s", of: recorder, to: lives[1])
            }
            // A directory in place of the stream's file blocks every user, including root.
            let session = Directory(lives[1].appending("recordings/s"))
            for name in try session.names() where name.hasPrefix("phone") {
                try Directory.removeFile(session.path.appending(name))
                try Directory(session.path.appending(name)).create()
            }
            try await RecorderUnderTest.run(listeningTo: [publisher], data: lives[1]) { recorder in
                let entry = try #require(try await recorder.send(RecordingList()).recordings.first)
                #expect(entry.status == "running" && entry.isInterrupted == true)
            }
        }
    }

    /// Between checkpoints, the log is needed from the position of the last checkpoint.
    @Test func whoIsCutOffTwiceBetweenCheckpointsGoesOn() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let lives = (0..<4).map { directory.appending("\($0)") }
            try await RecorderUnderTest.run(listeningTo: [publisher], data: lives[0]) { recorder in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                try await eventually("session.json") { try !recorder.directory().record().logs.isEmpty }
                try await copySession("s", of: recorder, to: lives[1])
            }
            for life in 1...2 {
                try await RecorderUnderTest.run(listeningTo: [publisher], data: lives[life]) { recorder in
                    // The first recorder finds no log, so a checkpoint follows at once.
                    try await eventually("session.json") {
                        let record = try recorder.directory().record()
                        return record.restarts.count == life && record.logs.allSatisfy { $0.durable != nil }
                    }
                    try publisher.sample(5)
                    try await recorder.describing([publisher]) { try await recorder.hasAll(of: publisher) }
                    try await copySession("s", of: recorder, to: lives[life + 1])
                    try FileManager.default.copyItem(
                        atPath: recorder.data.appending("recordings").appending(".wal").string,
                        toPath: lives[life + 1].appending("recordings").appending(".wal").string)
                }
            }
            try await RecorderUnderTest.run(listeningTo: [publisher], data: lives[3]) { recorder in
                try await recorder.describing([publisher]) { try await recorder.hasAll(of: publisher) }
                #expect(try await recorder.stop().report.isWhole)
                #expect(try await recorder.records().sequences == Array(0..<publisher.next))
            }
        }
    }

    @Test func aCopyBesideTheSessionIsNotContinued() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let data = directory.appending("copy")
            try await RecorderUnderTest.run(listeningTo: [publisher], data: directory.appending("data")) { recorder in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                try await eventually("session.json") { try !recorder.directory().record().logs.isEmpty }
                try await copySession("s", of: recorder, to: data)
                try FileManager.default.copyItem(
                    atPath: WriteAheadLog.directory(in: recorder.data, shard: nil).path.string,
                    toPath: WriteAheadLog.directory(in: data, shard: nil).path.string)
            }
            let recordings = SessionDirectory.recordings(in: data).path
            // Sorted after the session, as `recorder recover` names an unfinished copy.
            let copy = Directory(recordings.appending("s-recovered"))
            try FileManager.default.copyItem(
                atPath: recordings.appending("s").string, toPath: copy.path.string)
            let names = try copy.names()
            try await RecorderUnderTest.run(listeningTo: [publisher], data: data) { recorder in
                try publisher.sample(5)
                try await recorder.describing([publisher]) { try await recorder.hasAll(of: publisher) }
                let report = try await recorder.stop().report
                #expect(report.isWhole, "\(report)")
                #expect(try await recorder.records().sequences == Array(0..<publisher.next))
            }
            #expect(try copy.names() == names)
        }
    }

    /// All waiting frames are written to the write-ahead log together, including the end of one epoch and the start of the next.
    @Test func whatWaitedOfTwoEpochsIsNotWrittenAgain() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let copy = directory.appending("copy")
            let expected = Mutex<[Int]>([])
            try await RecorderUnderTest.run(listeningTo: [publisher], data: directory.appending("data")) { recorder in
                try await recorder.start("s", publisher)
                try await recorder.prime(publisher)
                try await eventually("session.json") { try !recorder.directory().record().logs.isEmpty }
                let first = publisher.next
                let gate = publisher.gateReplays()
                try publisher.sample(2, isLost: true)
                try publisher.sample(3)
                publisher.restart()
                try publisher.sample(4)
                try await eventually("the request for what is missing") { publisher.replaysAsked > 0 }
                // The stored document is older; the log has what followed.
                try await copySession("s", of: recorder, to: copy)
                gate.open()
                let all = Array(0..<first) + Array(first + 2..<first + 5) + Array(0..<4)
                expected.withLock { $0 = all }
                try await eventually("all of it in the file") { try await recorder.records().sequences == all }
                try FileManager.default.copyItem(
                    atPath: recorder.data.appending("recordings").appending(".wal").string,
                    toPath: copy.appending("recordings").appending(".wal").string)
            }
            let sequences = expected.withLock { $0 }
            try await RecorderUnderTest.run(listeningTo: [publisher], data: copy) { recorder in
                try await recorder.describing([publisher]) { try await recorder.has(sequences.count, of: publisher) }
                #expect(try await recorder.stop().report.streams.first?.gaps.map(\.count) == [2])
                #expect(try await recorder.records().sequences == sequences)
            }
        }
    }

    /// At startup the disk refuses a file of one session. After the other session ends, only the first still needs the
    /// write-ahead log.
    @Test(arguments: [false, true])
    func aSessionThatCanNotBeContinuedKeepsItsPartOfTheLog(isDiscarded: Bool) async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { directory in
            let copy = directory.appending("copy")
            let log = WriteAheadLog.directory(in: copy, shard: nil)
            try await RecorderUnderTest.run(listeningTo: [publisher], data: directory.appending("data")) { recorder in
                for session in ["a", "b"] {
                    try await recorder.start(session, publisher)
                    try await recorder.prime(publisher, session: session)
                    try await eventually("session.json") {
                        try recorder.directory(session).record().logs.first?.file != nil
                    }
                    try await copySession(session, of: recorder, to: copy)
                }
                try publisher.sample(50)
                try await recorder.hasAll(of: publisher, session: "a")
                // Once this request is answered, everything before it is in the log.
                _ = try await recorder.send(RecordingPause(session: "a"))
                try FileManager.default.copyItem(
                    atPath: WriteAheadLog.directory(in: recorder.data, shard: nil).path.string, toPath: log.path.string)
            }
            let session = try SessionDirectory.open(SessionIdentifier("a"), in: copy)
            let name = try #require(try session.record().logs.first?.file)
            let file = session.directory.path.appending(name)
            let bytes = try? Data(contentsOf: URL(filePath: file.string))
            if bytes != nil { try FileManager.default.removeItem(atPath: file.string) }
            // A directory blocks the file's path, even for root.
            try FileManager.default.createDirectory(atPath: file.string, withIntermediateDirectories: false)
            try await RecorderUnderTest.run(listeningTo: [publisher], data: copy) { recorder in
                _ = try await recorder.describing([publisher]) { try await recorder.stop("b") }
                guard isDiscarded else { return }
                // The log can forget the session only if nothing in the log is kept for it any more.
                let reply = try await recorder.sendBeside(RecordingDiscard(session: "a", force: true))
                #expect(reply.isComplete)
            }
            if isDiscarded { return }
            try FileManager.default.removeItem(atPath: file.string)
            try bytes?.write(to: URL(filePath: file.string))
            let recovery = try SessionRecovery(of: [session], log: log)
            let recovered = try #require(recovery.outcomes[session.session]).get()
            #expect(recovered.isFromLog && recovered.record.failures.isEmpty)
            #expect(recovered.record.logs.map(\.counts.written) == [publisher.next])
        }
    }

    /// Otherwise, the log would grow for as long as the recorder runs.
    @Test func aSessionThatSomebodyRemovedKeepsNothingInTheLog() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            for session in ["gone", "s"] {
                try await recorder.start(session, publisher)
                try await recorder.prime(publisher, session: session)
            }
            let path = try recorder.directory("gone").directory.path.string
            // The recorder may be adding a file to it.
            try await eventually("the removal of the directory") {
                (try? FileManager.default.removeItem(atPath: path)) != nil
            }
            try await eventually("the failure of its session") {
                try publisher.sample()
                return await recorder.metric("unstored_sessions") == 1
            }
            _ = try await recorder.describing([publisher]) { try await recorder.stop() }
            let reply = try await recorder.sendBeside(RecordingDiscard(session: "s", force: true))
            #expect(reply.isComplete)
        }
    }

    /// The recorder was killed before it opened a stream, and so before it answered the request.
    @Test func aSessionThatHadNotBegunIsStartedAgain() async throws {
        let publisher = try await FakePublisher()
        try await withTemporaryDirectory { data in
            let record = SessionRecord(
                session: try SessionIdentifier("s"), task: "Walk", step: "", streams: [publisher.name.description],
                format: .json, root: .array, status: .starting, startDate: .now)
            _ = try SessionDirectory.create(record, in: data)
            try await RecorderUnderTest.run(listeningTo: [publisher], data: data) { recorder in
                let recordings = try await recorder.send(RecordingList()).recordings
                #expect(recordings.isEmpty)
                let started = try await recorder.start("s", publisher)
                #expect(started.status == "running")
                let stopped = try await recorder.stop()
                #expect(stopped.status == "finished")
            }
        }
    }

    @Test func aNameIsFreeAgainWhereASessionCouldNotBegin() async throws {
        let publisher = try await FakePublisher()
        try await RecorderUnderTest.run(listeningTo: [publisher]) { recorder in
            // A file blocks the creation of the directory.
            let recordings = recorder.data.appending("recordings").string
            try FileManager.default.moveItem(atPath: recordings, toPath: recordings + ".away")
            #expect(FileManager.default.createFile(atPath: recordings, contents: nil))
            let refusal = try await recorder.describing([publisher]) {
                try await recorder.refusal(RecordingStart(session: "s", streams: ["phone/"]))
            }
            #expect(refusal != nil)
            try FileManager.default.removeItem(atPath: recordings)
            try FileManager.default.moveItem(atPath: recordings + ".away", toPath: recordings)
            try await recorder.start("s", publisher)
            #expect(try await recorder.stop().report.isWhole)
        }
    }
}
