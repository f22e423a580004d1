import Files
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// What a recorder decides: in which order things are done, and what must be done before.
@Suite struct RecordingsTests {
    private static let start: Int64 = 1_800_000_000_000_000_000
    private static let second: Int64 = 1_000_000_000
    private static let stream = StreamName(device: "phone", stream: "gyro")

    /// A recorder whose time is given, with a session of one stream.
    private final class Script {
        let core: Recordings
        let session: Session
        private(set) var time: Int64 = 0
        /// How far the wall clock was set forward.
        private var clockStep: Int64 = 0
        /// The publisher's run.
        private var epoch = "e"
        private var next = 0
        /// Whether log-manager is to be asked since a test reset it.
        var asksLogManager = false

        /// A write-ahead log on the disk, for tests that need one.
        private var log: WriteAheadLog?
        /// Why the disk takes nothing for the log.
        var refusal: RecordingError?

        private let data: FilePath
        private let files: SessionFiles

        /// Before which positions the write-ahead log was removed.
        private(set) var removals: [Int] = []
        /// What a ring had removed.
        private(set) var removed: [FinishedFile] = []

        init(in data: FilePath, _ limits: SessionRecord.Limits = SessionRecord.Limits()) throws {
            self.data = data
            files = SessionFiles(in: data)
            core = Recordings(
                Recordings.Settings(
                    syncInterval: 100_000_000, recoveryLimit: 10 * second, holdLimit: 1 << 20, minimumFree: 0,
                    shard: nil),
                log: "L", position: 0)
            session = try Self.session("s", startedAt: start, limits, of: core, in: data)
            core.open([description], of: session, at: now)
            #expect(core.begin(session))
        }

        private static func session(
            _ name: String, startedAt start: Int64, _ limits: SessionRecord.Limits, of core: Recordings,
            in data: FilePath, logPosition: LogPosition? = nil
        ) throws -> Session {
            var record = SessionRecord(
                session: try SessionIdentifier(name), task: "T", step: "", streams: ["phone/"], format: .json,
                root: .array, status: .starting, startDate: WallTime(nanosecondsSince1970: start), limits: limits)
            record.logPosition = logPosition ?? core.logPosition
            return try core.add(
                record, in: SessionDirectory.create(record, in: data), at: Moment(monotonic: 0, date: record.startDate))
        }

        /// Begins another session, now or that many seconds ago.
        /// - Parameters:
        ///   - isEnding: whether the program ends meanwhile.
        ///   - logPosition: where the write-ahead log ended when its document was made; nil for now.
        func begin(
            _ name: String, before: Double? = nil, duration: Double? = nil, isEnding: Bool = false,
            logPosition: LogPosition? = nil
        ) throws -> Session {
            var limits = SessionRecord.Limits()
            limits.before = before
            limits.duration = duration
            let startDate = now.date.adding(-Int64((before ?? 0) * 1e9)).nanosecondsSince1970
            let session = try Self.session(
                name, startedAt: startDate, limits, of: core, in: data, logPosition: logPosition)
            core.open([description], of: session, at: now)
            #expect(core.begin(session) != isEnding)
            return session
        }

        /// Restarts the publisher, or resumes one of its earlier runs.
        func restartPublisher(as name: String, at next: Int = 0) { (epoch, self.next) = (name, next) }

        var now: Moment {
            Moment(monotonic: time, date: WallTime(nanosecondsSince1970: RecordingsTests.start + time + clockStep))
        }

        var description: StreamDescription {
            StreamDescription(
                source: "sensor-publisher", sequence: 0, device: "phone", stream: "gyro", epoch: epoch, state: .running,
                fields: ["uptime", "x"], rate: 100, packed: false, nextSequence: next, replay: "tcp://10.0.0.1:5552",
                clock: clock, lastSample: clock.uptime, retention: 600)
        }

        private var clock: ClockReading {
            ClockReading(uptime: 1_000 + Double(time) / 1e9, date: now.date, elapsed: 1_000 + Double(time) / 1e9)
        }

        func wait(_ nanoseconds: Int64) { time += nanoseconds }

        func setClockForward(_ nanoseconds: Int64) { clockStep += nanoseconds }

        /// Takes the next samples of the stream, or loses them.
        func sample(_ count: Int, isLost: Bool = false) throws {
            let encoder = SampleBatchEncoder(
                source: "sensor-publisher", device: "phone", stream: "gyro", epoch: epoch, fields: ["uptime", "x"],
                isPacked: false)
            let rows = (next..<(next + count)).flatMap { [1_000 + Double($0) / 100, Double($0)] }
            var buffer = ByteBuffer(capacity: 0)
            rows.withUnsafeBufferPointer {
                encoder.encode(sequence: next, count: count, clock: clock, rows: $0, into: &buffer)
            }
            next += count
            if isLost { return }
            try take(buffer)
        }

        /// Takes the next samples of the stream as records.
        /// - Parameter records: for each the values behind its uptime.
        func record(_ records: [String], fields: [String], types: [FieldType]) throws {
            let encoder = SampleBatchEncoder(
                source: "sensor-publisher", device: "phone", stream: "gyro", epoch: epoch, fields: fields, types: types,
                isPacked: false)
            var values = RecordValues()
            for record in records { values.append(record.utf8) }
            var buffer = ByteBuffer(capacity: 0)
            records.indices.map { 1_000 + Double(next + $0) / 100 }.withUnsafeBufferPointer {
                encoder.encode(sequence: next, clock: clock, uptimes: $0, values: values.all, into: &buffer)
            }
            next += records.count
            try take(buffer)
        }

        private func take(_ buffer: borrowing ByteBuffer) throws {
            let route = Array("\(TopicArea.samples)\(RecordingsTests.stream)".utf8).withUnsafeBytes {
                core.route(of: $0)
            }
            try buffer.withUnsafeBytes { frame in
                core.take(
                    ReceivedBatch(try SampleBody(frame), frame, packed: nil), try #require(route), published: nil,
                    at: now)
            }
            core.endBatches(at: now)
        }

        func keepLog() { log = WriteAheadLog(in: logDirectory, synced: 0) }

        private var logDirectory: Directory { WriteAheadLog.directory(in: data, shard: nil) }

        private func append(_ block: LogBlock) {
            let failure = RecordingError.thrown { () throws(RecordingError) in
                if let refusal { throw refusal }
                try log?.append(block)
            }
            core.appended(failure, at: now)
        }

        /// Starts the recorder again, as after a kill.
        /// - Returns: what it knows of the session then.
        func restart() throws -> (recovered: RecoveredSession, session: Session) {
            let recovery = try SessionRecovery(of: [session.directory], log: logDirectory)
            let again = Recordings(core.settings, log: recovery.log ?? "L", position: recovery.logEnd)
            let recovered = try #require(recovery.outcomes[session.identifier]).get()
            try again.resume(recovered, in: session.directory, at: now)
            return (recovered, try #require(again.sessions[session.identifier]))
        }

        /// What is to be done now.
        func effects() -> [Recordings.Effect] { core.takeEffects() }

        /// The names of what is to be done now on the disk and with publishers.
        func work() -> [String] { effects().compactMap(\.work) }

        /// Does what is to be done on the disk, until nothing is.
        /// - Returns: the names of it, in its order.
        func settle() -> [String] {
            var work: [String] = []
            while true {
                let effects = effects()
                if effects.isEmpty {
                    guard let time = core.commitAt else { return work }
                    self.time = max(self.time, time)
                    core.wake(at: now)
                }
                for effect in effects {
                    if let name = effect.work { work.append(name) }
                    switch effect {
                    case .configure: asksLogManager = true
                    case .append(let block): append(block)
                    case .removeLog(let position, _):
                        removals.append(position)
                        core.removedLog(0)
                    case .write(let block): core.wrote(files.apply(block, at: time), at: now)
                    case .writeDue: core.wrote(files.writeDue(at: time), at: now)
                    case .sync(let session):
                        let sync = files.beginSync(of: session) { $0.map { _ in { nil } } }
                        core.synced(session, files.endSync(sync, of: session), at: now)
                    case .store: core.stored(nil, at: now)
                    case .conclude(let record, _, _): core.concluded(record, nil, at: now)
                    case .removeFiles(_, let files, _):
                        removed += files
                        core.removedFiles(.success([:]), at: now)
                    default: continue
                    }
                }
            }
        }
    }

    private func withScript(_ body: (Script) throws -> Void) throws {
        try withTemporaryDirectory { try body(Script(in: $0)) }
    }

    /// A machine without a clock of its own starts days back, and is set right while it records.
    @Test func aRingRemovesNothingEarlyWhenTheWallClockIsSetForward() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(maximumFileAge: 10, keep: 60))
            try script.sample(10)
            _ = script.settle()
            script.wait(11 * Self.second)
            let end = script.now.date.seconds(since: script.session.record.startDate)
            script.core.tick(at: script.now)
            _ = script.settle()
            let log = try #require(script.session.ordered.first?.log)
            let file = try #require(log.record.files.first)
            #expect(file.begun == 0 && file.ended == end)
            script.setClockForward(3 * 86_400 * Self.second)
            for wait: Int64 in [2, 50] {
                script.wait(wait * Self.second)
                script.core.tick(at: script.now)
                _ = script.settle()
                #expect(script.removed == [])
            }
            script.wait(10 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(script.removed.map(\.name) == [file.name])
            #expect(log.record.files.first?.removed != nil)
        }
    }

    @Test func eachEarlierRunIsAGapOfASessionFromThePast() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            script.core.take(script.description, at: script.now)
            try script.sample(5)
            script.wait(5 * Self.second)
            script.restartPublisher(as: "short")
            script.core.take(script.description, at: script.now)
            script.wait(5 * Self.second)
            script.restartPublisher(as: "now")
            let late = try script.begin("late", before: 30)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.gaps.map(\.epoch) == ["e", "short"], "in the order of the runs")
            #expect(stream.gaps.map(\.reason) == [.epochEnded, .epochEnded])
            #expect(stream.record.epochs.map(\.epoch) == ["e", "short", "now"])
        }
    }

    /// The batch behind it has samples that the publisher had described already.
    @Test func theGapBeforeABatchReachesBackToTheStartOfASessionFromThePast() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            script.wait(3 * Self.second)
            script.restartPublisher(as: "e", at: 295)
            let late = try script.begin("late", before: 1)
            script.restartPublisher(as: "e", at: 290)
            try script.sample(10)
            let missing = try #require(script.core.missing(Self.stream, in: late.identifier, at: script.now))
            let isMore = script.core.giveUp(missing.request, reason: .notWritten, in: late.identifier, at: script.now)
            #expect(isMore == false)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.gaps.map { [$0.from, $0.count] } == [[200, 95]])
            #expect(stream.record.counts.written == 5)
        }
    }

    /// They waited for a recorder that took nothing for a while.
    @Test func samplesOfARunThatHasEndedAreInNoSessionThatBeginsAfterIt() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            script.core.take(script.description, at: script.now)
            try script.sample(5)
            script.restartPublisher(as: "now")
            script.core.take(script.description, at: script.now)
            let late = try script.begin("late")
            script.restartPublisher(as: "e", at: 5)
            try script.sample(5)
            script.core.take(script.description, at: script.now)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.record.epochs.map(\.epoch) == ["now"])
            #expect(stream.intake.recovery == nil)
            let first = try #require(script.session.streams[Self.stream])
            #expect(first.intake.next(of: "e") == 10, "they belong to the session that ran then")
        }
    }

    @Test func recordsBeginAFileOfTheirOwnAndOneThatIsNotAsItsTypesSayIsAGap() throws {
        try withScript { script in
            _ = script.settle()
            try script.sample(2)
            let types: [FieldType] = [.number, .number, .text]
            try script.record(
                [#"1,"]]""#, #"1152921504606846977,null"#], fields: ["uptime", "x", "label"], types: types)
            try script.record(["2,5"], fields: ["uptime", "x", "label"], types: types)
            try script.record([#"3,"c""#], fields: ["uptime", "x", "label"], types: types)
            // The same names with other types are other columns.
            try script.record(["4,[1]"], fields: ["uptime", "x", "label"], types: [.number, .number, .json])
            _ = script.settle()
            let recording = try #require(script.session.streams[RecordingsTests.stream])
            #expect(recording.gaps.map { [$0.from, $0.count] } == [[4, 1]])
            #expect(recording.gaps.map(\.reason) == [.malformed])
            #expect(recording.lastFault?.message.contains("is not text") == true)
            #expect(recording.record.types == [.number, .number, .json])
            #expect(recording.record.counts.written == 6)
            #expect(recording.record.files.map(\.samples) == [2, 3])
        }
    }

    @Test func aCommitWaitsForWhatComesTogether() throws {
        try withScript { script in
            _ = script.settle()
            let began = script.time + 300_000_000
            script.wait(300_000_000)
            try script.sample(10)
            #expect(script.effects().isEmpty)
            #expect(script.core.commitAt == began + 2_000_000)
            script.wait(1_000_000)
            try script.sample(10)
            #expect(script.effects().isEmpty)
            script.wait(1_000_000)
            script.core.advance(at: script.now)
            #expect(script.work() == ["append"])
            // What comes while that is under way waits for the next one.
            try script.sample(10)
            #expect(script.work() == [])
            script.core.appended(nil, at: script.now)
            #expect(script.work() == ["write"])
        }
    }

    @Test func whoWaitsForACommitHasOneAtOnce() throws {
        try withScript { script in
            let block = script.core.commitNow(at: script.now)
            #expect(script.work() == ["append"])
            #expect(!script.core.isCommitted(block))
            script.core.appended(nil, at: script.now)
            #expect(script.core.isCommitted(block))
            #expect(script.core.isCommitted(script.core.commitNow(at: script.now)), "nothing was written since")
        }
    }

    @Test func nothingIsStoredThatTheLogDoesNotHave() throws {
        try withScript { script in
            try script.sample(10)
            script.core.tick(at: script.now)
            #expect(script.work() == ["append"])
            script.core.appended(nil, at: script.now)
            #expect(script.work() == ["store", "write"])
        }
    }

    @Test func theLogGoesOnlyOnceFilesAreDurableAndThatIsStored() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            script.wait(11 * Self.second)
            try script.sample(10)
            script.core.tick(at: script.now)
            let work = script.settle()
            let sync = try #require(work.firstIndex(of: "sync"))
            let store = try #require(work.firstIndex(of: "store"))
            let removal = try #require(work.firstIndex(of: "removeLog"))
            #expect(try #require(work.firstIndex(of: "write")) < sync)
            #expect(sync < store && store < removal)
        }
    }

    @Test func aLogThatCanNotBeWrittenEndsTheSessionAndItsSamplesGoIntoFiles() throws {
        try withScript { script in
            try script.sample(10)
            script.core.commitNow(at: script.now)
            #expect(script.work() == ["append"])
            try script.sample(10)
            script.core.appended(Self.refusal, at: script.now)
            #expect(script.session.status == .failed)
            // Both blocks, one after the other, and the session's end behind them.
            let work = script.settle()
            #expect(work.prefix { $0 != "conclude" && $0 != "rebuild" }.count { $0 == "write" } >= 2)
            #expect(script.core.isIdle)
        }
    }

    private static let refusal = RecordingError(
        .inputOutput, action: "sync", path: "/nowhere/.wal/0", reason: "the disk is broken", advice: "")

    /// The recorder is killed after the disk refused a block, and took the next ones.
    @Test func aSessionThatTheLogRefusedHasFailedAfterAKillToo() throws {
        try withScript { script in
            script.keepLog()
            try script.sample(10)
            _ = script.settle()
            try script.sample(10)
            script.core.commitNow(at: script.now)
            for case .append in script.effects() { script.core.appended(Self.refusal, at: script.now) }
            _ = script.settle()
            let (recovered, session) = try script.restart()
            #expect(recovered.record.status == .failed)
            #expect(recovered.record.failures.contains("\(Self.refusal)"))
            #expect(recovered.record.logs.map(\.counts.written) == [20])
            #expect(session.status == .failed)
        }
    }

    /// The recorder is killed after the disk refused the log from some block on: its files alone say that the session ended.
    @Test func aSessionThatEndedWithoutTheLogDoesNotContinue() throws {
        try withScript { script in
            script.keepLog()
            try script.sample(10)
            _ = script.settle()
            try script.sample(10)
            script.refusal = Self.refusal
            _ = script.settle()
            let (recovered, session) = try script.restart()
            #expect(recovered.record.status == .running)
            #expect(recovered.record.logs.map(\.counts.written) == [20])
            #expect(recovered.record.logs.map(\.files.count) == [1])
            #expect(session.status == .failed)
        }
    }

    /// Checkpoints and restarts write into the log again what waits: it must not be more each time.
    @Test func whatWaitedIsTakenAgainOnceHoweverOftenTheLogHasIt() throws {
        try withScript { script in
            script.keepLog()
            try script.sample(10)
            try script.sample(10, isLost: true)
            try script.sample(10)
            try #require(script.session.streams[Self.stream]).holdOn()
            _ = script.settle()
            let (recovered, session) = try script.restart()
            #expect(recovered.held.count == 1)
            #expect(session.streams[Self.stream]?.intake.heldCount == 1)
            #expect(session.streams[Self.stream]?.intake.recovery?.missing == 10..<20)
        }
    }

    /// A failed session gives up what it waits for. If no file takes the marker, the session says it all the same.
    @Test func aGapThatNoFileTakesIsListed() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            try script.sample(10, isLost: true)
            try script.sample(10)
            var outcome = SessionFiles.Outcome()
            outcome.failures[script.session.identifier] = Self.refusal
            script.core.wrote(outcome, at: script.now)
            #expect(script.settle().last == "rebuild")
            var repaired = script.session.record
            var log = try #require(script.session.streams[Self.stream]?.record)
            #expect(log.gaps.map(\.reason) == [.notWritten])
            log.gaps = []
            log.epochs[0].next = 10
            repaired.logs = [log]
            script.core.rebuilt(script.session.identifier, .success(repaired), at: script.now)
            for case .conclude(let record, _, _) in script.effects() {
                #expect(record.logs.map { $0.gaps.map { [$0.from, $0.count] } } == [[[10, 10]]])
                #expect(record.logs.map { $0.epochs.map(\.next) } == [[20]])
                repaired = record
            }
            #expect(repaired.logs.map(\.gaps.count) == [1])
        }
    }

    /// A session that begins while a block is on its way must not say that the block was durable.
    @Test func aSessionBeginsBehindWhatIsDurable() throws {
        try withScript { script in
            #expect(script.core.logPosition.recorded == 0)
            _ = script.settle()
            let durable = script.core.logPosition
            #expect(durable.recorded > 0 && durable.recorded == durable.written)
            try script.sample(10)
            script.core.commitNow(at: script.now)
            let meanwhile = script.core.logPosition
            #expect(meanwhile.recorded == durable.recorded && meanwhile.written > durable.written)
            script.core.appended(Self.refusal, at: script.now)
            #expect(script.core.logPosition.recorded == durable.recorded)
        }
    }

    /// The document of a session that begins names a position. Until that is replaced, no other session's checkpoint removes it.
    @Test func aSessionThatBeginsKeepsTheLogFromWhereItsDocumentSays() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            let position = script.core.logPosition
            let name = try SessionIdentifier("late")
            // Its document is being written.
            script.core.starting[name] = position.written
            script.wait(11 * Self.second)
            try script.sample(10)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(script.session.stored > position.written)
            #expect(script.removals.max() == position.written)
            let late = try script.begin("late", logPosition: position)
            script.core.starting[name] = nil
            #expect(late.stored == position.written)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(late.stored == late.written && late.stored > position.written)
        }
    }

    /// A log-manager is asked again each minute, and what it says then concerns the file being written.
    @Test func limitsThatAreChangedHoldForTheFileBeingWritten() throws {
        try withScript { script in
            func asked() -> [String] {
                script.core.tick(at: script.now)
                _ = script.settle()
                guard script.asksLogManager else { return [] }
                script.asksLogManager = false
                return script.core.unknownLogs(at: script.now).map(\.text)
            }
            func answer(_ size: Int) {
                var answers = LogConfigurations.Answers()
                let configuration = LogConfiguration(name: "phone_gyro", maximumFileSize: size, maximumFileAge: 0)
                answers.configurations.updateValue(configuration, forKey: LogName("phone_gyro"))
                script.core.configured(answers, at: script.now)
            }
            script.wait(Self.second)
            #expect(asked() == ["phone_gyro"])
            answer(1_000_000)
            try script.sample(10)
            script.wait(59 * Self.second)
            #expect(asked() == [])
            script.wait(2 * Self.second)
            #expect(asked() == ["phone_gyro"])
            answer(100)
            _ = script.settle()
            let log = try #require(script.session.ordered.first?.log)
            #expect(log.record.files.map(\.samples) == [10])
            #expect(log.record.maximumFileSize == 100 && log.record.maximumFileAge == nil)
            // Without one, nobody is asked more often.
            script.core.configured(LogConfigurations.Answers(isAway: true), at: script.now)
            script.wait(59 * Self.second)
            #expect(asked() == [])
            script.wait(2 * Self.second)
            #expect(asked() == ["phone_gyro"])
        }
    }

    /// Stops a session whose last ten samples did not arrive, and says so.
    private static func stopMissingSamples(of script: Script) throws {
        try script.sample(10)
        _ = script.settle()
        try script.sample(10, isLost: true)
        script.core.stop(script.session.identifier, at: script.now)
        #expect(script.settle().contains("list"))
        script.core.listed(script.session.identifier, [script.description], at: script.now)
    }

    /// They are requested once they can't be under way any more.
    private static func expectRequest(of script: Script) {
        script.wait(second)
        script.core.tick(at: script.now)
        #expect(script.settle().contains("recover"))
    }

    /// The session ends without them when clocks are compared.
    private static func expectEnd(of script: Script) {
        script.core.compared(script.session.identifier, [], isLast: true, at: script.now)
        _ = script.settle()
        #expect(script.core.isIdle)
        #expect(script.session.report.streams.map(\.lost) == [10])
    }

    @Test func aStopAsksForWhatIsMissingAndGivesUpInTime() throws {
        try withScript { script in
            try Self.stopMissingSamples(of: script)
            // It may still be under way.
            #expect(!script.settle().contains("recover"))
            Self.expectRequest(of: script)
            let missing = script.core.missing(Self.stream, in: script.session.identifier, at: script.now)
            #expect(missing?.request.from == 10)
            #expect(missing?.request.count == 10)
            // There is no answer.
            script.wait(11 * Self.second)
            script.core.tick(at: script.now)
            #expect(script.settle().contains("compareClocks"))
            Self.expectEnd(of: script)
        }
    }

    /// A relay whose servers have no leader says that it is to be asked again.
    @Test func aStopWaitsAMinuteForAPublisherThatPutsItOff() throws {
        try withScript { script in
            try Self.stopMissingSamples(of: script)
            Self.expectRequest(of: script)
            var waited = 1
            while !script.settle().contains("compareClocks"), waited < 100 {
                script.core.putOff(in: script.session.identifier)
                script.wait(10 * Self.second)
                waited += 10
                script.core.tick(at: script.now)
            }
            #expect(waited == 61)
            Self.expectEnd(of: script)
        }
    }

    /// A session that is stopped takes nothing of a run that began afterwards.
    @Test func aRunThatBeginsAfterAStopIsNoneOfTheSession() throws {
        try withScript { script in
            try Self.stopMissingSamples(of: script)
            script.restartPublisher(as: "f")
            try script.sample(10)
            _ = script.settle()
            #expect(script.session.ordered[0].record.epochs.map(\.epoch) == ["e"])
            #expect(script.session.ordered[0].record.counts.written == 10)
        }
    }

    /// A publisher that did not say where its streams are may be heard again when nothing seems to be missing any more.
    @Test func aLossThatShowsWhileClocksAreComparedIsAskedFor() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            try script.sample(10, isLost: true)
            var other = script.description
            (other.stream, other.nextSequence) = ("accel", 0)
            script.core.stop(script.session.identifier, at: script.now)
            script.core.listed(script.session.identifier, [other], at: script.now)
            script.wait(Self.second)
            script.core.tick(at: script.now)
            #expect(script.settle().contains("compareClocks"))
            try script.sample(10)
            script.core.compared(script.session.identifier, [], isLast: true, at: script.now)
            #expect(script.settle().contains("recover"))
            let missing = script.core.missing(Self.stream, in: script.session.identifier, at: script.now)
            #expect(missing?.request.from == 10 && missing?.request.count == 10)
            #expect(!script.core.isIdle)
            // There is no answer.
            script.wait(11 * Self.second)
            script.core.tick(at: script.now)
            #expect(!script.settle().contains("compareClocks"))
            #expect(script.core.isIdle)
        }
    }

    @Test func aProgramThatEndsWaitsThreeSeconds() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            try script.sample(10, isLost: true)
            script.core.stopAll(at: script.now)
            script.core.listed(script.session.identifier, [script.description], at: script.now)
            script.wait(Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(!script.core.isIdle)
            script.wait(2 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(script.core.isIdle)
        }
    }

    @Test func aProgramThatEndsMayLeaveItsSessionsToTheNext() throws {
        try withScript { script in
            try script.sample(10)
            script.core.leaveAll(at: script.now)
            #expect(!script.core.isIdle)
            let effects = script.settle()
            #expect(effects.contains("append") && effects.contains("write"))
            #expect(!effects.contains("list"))
            // What comes later is not waited for: the next one requests it.
            try script.sample(10)
            #expect(script.core.isIdle)
            #expect(script.session.status == .running)
        }
    }

    @Test func aSessionThatBeginsWhileTheProgramEndsIsEndedToo() throws {
        try withScript { script in
            script.core.stopAll(at: script.now)
            let late = try script.begin("late", isEnding: true)
            script.core.tick(at: script.now)
            #expect(late.status == .waitingToStop)
        }
    }

    @Test func aTimeThatIsOverExtendsNothing() throws {
        try withScript { script in
            let short = try script.begin("short", duration: 1)
            script.wait(2 * Self.second)
            #expect(!short.extend(until: script.now.date.adding(-1), at: script.now))
            #expect(short.record.limits.duration == 1)
        }
    }

    @Test func theOriginOfTheDataIsInReportAndRecord() throws {
        try withScript { script in
            func origins() -> [DataOrigin?] { script.session.ordered.flatMap { $0.record.epochs.map(\.origin) } }
            #expect(script.session.report.streams.map(\.origin) == [nil])
            var description = script.description
            description.origin = .simulated
            script.core.take(description, at: script.now)
            #expect(origins() == [.simulated])
            #expect(script.session.report.streams.map(\.origin) == [.simulated])
            // A publisher of an older version took its place, and then one with a sensor.
            description.epoch = "e2"
            description.origin = nil
            script.core.take(description, at: script.now)
            #expect(script.session.report.streams.map(\.origin) == [.simulated])
            description.epoch = "e3"
            description.origin = .measured
            script.core.take(description, at: script.now)
            #expect(origins() == [.simulated, nil, .measured])
            #expect(script.session.report.streams.map(\.origin) == [.mixed])
        }
    }

    @Test func whatADeviceIsAndHowFarItsClockIsAheadIsInTheRecord() throws {
        try withScript { script in
            func remotes() -> [SessionRecord.Remote?] {
                script.session.ordered.flatMap { $0.record.epochs.map(\.remote) }
            }
            #expect(remotes() == [nil])
            var description = script.description
            description.description = "an outlet, <desc><maker>A</maker></desc>"
            let clocks = (0..<3).map { RemoteClock(offset: 7 + Double($0) / 1e6, roundTrip: 0.001, uptime: Double($0)) }
            for clock in clocks {
                description.remoteClock = clock
                script.core.take(description, at: script.now)
            }
            #expect(
                remotes() == [
                    SessionRecord.Remote(description: description.description, first: clocks[0], last: clocks[2])
                ])
        }
    }

    @Test func aSessionIsToldOfEachSecondWhileItRuns() throws {
        try withScript { script in
            func told() -> Int {
                script.effects().count {
                    if case .notice(.publish(let event)) = $0, let event = event as? RecordingEvent {
                        event.change == .current && event.status == "running"
                    } else {
                        false
                    }
                }
            }
            _ = script.settle()
            var count = 0
            for _ in 0..<30 {
                script.wait(100_000_000)
                script.core.tick(at: script.now)
                count += told()
                _ = script.settle()
            }
            #expect((2...4).contains(count))
        }
    }

    @Test func anAnswerToWhatIsNoLongerMissingCountsNothing() throws {
        try withScript { script in
            try script.sample(10)
            try script.sample(10, isLost: true)
            try script.sample(10)
            let identifier = script.session.identifier
            let missing = try #require(script.core.missing(Self.stream, in: identifier, at: script.now))
            #expect(script.core.giveUp(missing.request, reason: .notRetained, in: identifier, at: script.now) == false)
            #expect(script.core.take([], count: 0, for: missing.request, in: identifier, at: script.now))
            #expect(script.session.report.streams.map(\.lost) == [10])
            #expect(script.core.missing(Self.stream, in: identifier, at: script.now) == nil)
        }
    }
}

extension Recordings.Effect {
    /// What is to be done on the disk or with publishers; nil for what is only told.
    fileprivate var work: String? {
        switch self {
        case .append: "append"
        case .removeLog: "removeLog"
        case .write: "write"
        case .sync: "sync"
        case .rebuild: "rebuild"
        case .store: "store"
        case .conclude: "conclude"
        case .recover: "recover"
        case .list: "list"
        case .compareClocks: "compareClocks"
        default: nil
        }
    }
}
