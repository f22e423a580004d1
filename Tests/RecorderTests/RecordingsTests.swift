import Files
import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

/// What a recorder decides: the order of its effects and their prerequisites.
@Suite struct RecordingsTests {
    private static let start: Int64 = 1_800_000_000_000_000_000
    private static let second: Int64 = 1_000_000_000
    private static let stream = StreamName(device: "phone", stream: "gyro")

    /// A recorder with given time and a session of one stream.
    private final class Script {
        private(set) var core: Recordings
        let session: Session
        private(set) var time: Int64 = 0
        /// How far the wall clock was set forward, in nanoseconds.
        private var clockStep: Int64 = 0
        private var slept: Int64 = 0
        /// The first sample after each sleep, and the nanoseconds slept.
        private var sleeps: [(first: Int, slept: Int64)] = []
        private var epoch = "e"
        private var next = 0
        /// The unit that the publisher states.
        var unit: String?
        /// The rate that it states.
        var rate: Double? = 100
        /// Whether the recorder wanted to ask log-manager since a test last reset this.
        var asksLogManager = false

        /// A write-ahead log on the disk, for tests that need one.
        private var log: WriteAheadLog?
        /// The error with which the disk refuses the log; nil if it works.
        var refusal: RecordingError?
        /// Whether stored records are written to the disk.
        var storesRecords = false

        private let data: FilePath
        private let files: SessionFiles

        /// The positions before which the write-ahead log was removed.
        private(set) var removals: [Int] = []
        /// Files that a ring removed.
        private(set) var removed: [FinishedFile] = []

        init(in data: FilePath, _ limits: SessionRecord.Limits = SessionRecord.Limits()) throws {
            self.data = data
            files = SessionFiles(in: data)
            core = Recordings(
                Recordings.Settings(
                    syncInterval: 100_000_000, recoveryLimit: 10 * second, holdLimit: 1 << 20, minimumFree: 0,
                    shard: nil),
                log: "L", position: 0)
            session = try Self.session(
                "s", startedAt: start, limits, of: core, in: data,
                at: Moment(monotonic: 0, date: WallTime(nanosecondsSince1970: start)))
            core.open([description], of: session, at: now)
            #expect(core.begin(session))
        }

        private static func session(
            _ name: String, startedAt start: Int64, _ limits: SessionRecord.Limits, of core: Recordings,
            in data: FilePath, logPosition: LogPosition? = nil, at now: Moment
        ) throws -> Session {
            var record = SessionRecord(
                session: try SessionIdentifier(name), task: "T", step: "", streams: ["phone/"], format: .json,
                root: .array, status: .starting, startDate: WallTime(nanosecondsSince1970: start), limits: limits)
            record.logPosition = logPosition ?? core.logPosition
            return try core.add(record, in: SessionDirectory.create(record, in: data), at: now)
        }

        /// Begins another session, now or some seconds ago.
        /// - Parameters:
        ///   - isEnding: whether the program shuts down meanwhile.
        ///   - logPosition: the end of the write-ahead log when the session's document was created; nil for now.
        ///   - isAlone: whether the session's stream is still unknown.
        ///   - isInterrupted: whether the recorder will be killed before the session is running.
        func begin(
            _ name: String, before: Double? = nil, duration: Double? = nil, isEnding: Bool = false,
            logPosition: LogPosition? = nil, isAlone: Bool = false, isInterrupted: Bool = false
        ) throws -> Session {
            var limits = SessionRecord.Limits()
            limits.before = before
            limits.duration = duration
            let startDate = now.date.adding(-Int64((before ?? 0) * 1e9)).nanosecondsSince1970
            let session = try Self.session(
                name, startedAt: startDate, limits, of: core, in: data, logPosition: logPosition, at: now)
            core.open(isAlone ? [] : [description], of: session, at: now)
            if !isInterrupted { #expect(core.begin(session) != isEnding) }
            return session
        }

        /// Restarts the publisher, or resumes one of its earlier runs.
        func restartPublisher(as name: String, at next: Int = 0) { (epoch, self.next) = (name, next) }

        var now: Moment {
            let date = RecordingsTests.start + time + slept + clockStep
            return Moment(monotonic: time, date: WallTime(nanosecondsSince1970: date), slept: slept)
        }

        var description: StreamDescription {
            StreamDescription(
                source: "sensor-publisher", sequence: 0, device: "phone", stream: "gyro", epoch: epoch, state: .running,
                fields: ["uptime", "x"], unit: unit, rate: rate, packed: false, nextSequence: next,
                replay: "tcp://10.0.0.1:5552", clock: clock, lastSample: clock.uptime, retention: 600)
        }

        private var clock: ClockReading {
            ClockReading(
                uptime: 1_000 + Double(time) / 1e9, date: now.date, elapsed: 1_000 + Double(time + slept) / 1e9)
        }

        func wait(_ nanoseconds: Int64) { time += nanoseconds }

        func fallAsleep(for nanoseconds: Int64) {
            slept += nanoseconds
            sleeps.append((next, nanoseconds))
        }

        /// The clock as the publisher's batches have it: at their last sample, if the machine slept since.
        private func clock(of samples: Range<Int>) -> ClockReading {
            var reading = clock
            let since = sleeps.filter { $0.first >= samples.upperBound }.reduce(0) { $0 + $1.slept }
            reading.date = reading.date.adding(-since)
            reading.elapsed = sleeps.isEmpty ? nil : reading.elapsed.map { $0 - Double(since) / 1e9 }
            return reading
        }

        func setClockForward(_ nanoseconds: Int64) { clockStep += nanoseconds }

        /// Takes the stream's next samples, or loses them.
        func sample(_ count: Int, fields: [String] = ["uptime", "x"], isLost: Bool = false) throws {
            let samples = next..<next + count
            next += count
            if !isLost { try take(encoded(samples, fields: fields)) }
        }

        /// Delivers samples as the reply to the request for missing ones.
        /// - Parameter other: the session that requested them; nil for the script's own.
        func replay(_ samples: Range<Int>, in other: Session? = nil) throws {
            let session = other ?? self.session
            let missing = try #require(core.missing(RecordingsTests.stream, in: session.identifier, at: now))
            let buffer = encoded(samples)
            let frame = buffer.withUnsafeBytes { Array($0) }
            _ = core.take([frame], count: samples.count, for: missing.request, in: session.identifier, at: now)
        }

        private func encoded(_ samples: Range<Int>, fields: [String] = ["uptime", "x"]) -> ByteBuffer {
            let encoder = SampleBatchEncoder(
                source: "sensor-publisher", device: "phone", stream: "gyro", epoch: epoch, fields: fields,
                isPacked: false)
            var rows: [Double] = []
            for number in samples {
                rows.append(1_000 + Double(number) / 100)
                rows += [Double](repeating: Double(number), count: fields.count - 1)
            }
            var buffer = ByteBuffer(capacity: 0)
            rows.withUnsafeBufferPointer {
                encoder.encode(
                    sequence: samples.lowerBound, count: samples.count, clock: clock(of: samples), rows: $0,
                    into: &buffer)
            }
            return buffer
        }

        /// Takes the stream's next samples as records.
        /// - Parameter records: for each record, the values after its uptime.
        func record(_ records: [String], fields: [String], types: [FieldType]) throws {
            let encoder = SampleBatchEncoder(
                source: "sensor-publisher", device: "phone", stream: "gyro", epoch: epoch, fields: fields, types: types,
                isPacked: false)
            var values = RecordValues()
            for record in records { values.append(record.utf8) }
            var buffer = ByteBuffer(capacity: 0)
            records.indices.map { 1_000 + Double(next + $0) / 100 }.withUnsafeBufferPointer {
                encoder.encode(
                    sequence: next, clock: clock(of: next..<next + records.count), uptimes: $0, values: values.all,
                    into: &buffer)
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

        /// Restarts the recorder, as after a kill.
        /// - Parameter other: the session to resume; nil for the script's own.
        /// - Returns: what the recorder then knows about the session.
        func restart(resuming other: Session? = nil) throws -> (recovered: RecoveredSession, session: Session) {
            let session = other ?? self.session
            let recovery = try SessionRecovery(of: [session.directory], log: logDirectory)
            let again = Recordings(core.settings, log: recovery.log ?? "L", position: recovery.logEnd)
            let recovered = try #require(recovery.outcomes[session.identifier]).get()
            try again.resume(recovered, in: session.directory, at: now)
            core = again
            log = nil
            return (recovered, try #require(again.sessions[session.identifier]))
        }

        func effects() -> [Recordings.Effect] { core.takeEffects() }

        /// The names of the pending effects on the disk and on publishers.
        func work() -> [String] { effects().compactMap(\.work) }

        /// Carries out effects on the disk until none is left.
        /// - Returns: their names, in order.
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
                    case .store(let record, let directory):
                        let failure = RecordingError.thrown { () throws(RecordingError) in
                            if storesRecords { try directory.write(record) }
                        }
                        core.stored(failure, at: now)
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

    /// A machine without a real-time clock starts with a date days in the past, which is corrected during the recording.
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

    @Test(arguments: [86_400, -86_400] as [Int64])
    func aTimeIsKeptThoughTheWallClockWasSet(by seconds: Int64) throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(maximumFileAge: 10, keep: 60))
            try script.sample(10)
            script.wait(11 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            script.setClockForward(seconds * Self.second)
            script.wait(Self.second)
            let request = RecordingKeep(session: "s", from: script.now.date.adding(-script.time), to: script.now.date)
            let reply = try script.core.keep(request, in: script.session, at: script.now)
            #expect(reply.files.count == 1)
            #expect(reply.from == request.from && reply.to == request.to)
            script.wait(100 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(script.removed == [])
            let whole = try script.core.keep(RecordingKeep(session: "s"), in: script.session, at: script.now)
            #expect(whole.files == reply.files, "the session did not begin in the future")
        }
    }

    @Test func aFileWithARingHasAllDatesUnderWhichItWasWritten() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(maximumFileAge: 10, keep: 60))
            try script.sample(10)
            script.wait(Self.second)
            script.setClockForward(-86_400 * Self.second)
            let start = script.session.record.startDate
            let earliest = script.now.date.seconds(since: start)
            script.core.tick(at: script.now)
            _ = script.settle()
            script.setClockForward(86_400 * Self.second)
            script.wait(10 * Self.second)
            let latest = script.now.date.seconds(since: start)
            script.core.tick(at: script.now)
            _ = script.settle()
            let file = try #require(script.session.ordered.first?.log.record.files.first)
            #expect(file.begun == earliest && file.ended == latest)
        }
    }

    @Test(arguments: [false, true])
    func theDurationIncludesSleep(isRestarted: Bool) throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(duration: 60))
            script.keepLog()
            try script.sample(10)
            script.wait(20 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            script.fallAsleep(for: 3_600 * Self.second)
            let session = try isRestarted ? script.restart().session : script.session
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(session.status == .waitingToStop)
        }
    }

    @Test func theWaitForResultsIncludesSleep() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(duration: 1, resultsWithin: 60))
            try Self.awaitResults(of: script)
            script.fallAsleep(for: 60 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(script.core.isIdle)
        }
    }

    @Test(arguments: [30, -30] as [Int64])
    func aPauseLeavesOutItsSamplesThoughTheWallClockWasSet(by seconds: Int64) throws {
        try withScript { script in
            try script.sample(100)
            script.wait(995_000_000)
            script.setClockForward(seconds * Self.second)
            #expect(try script.session.pause(at: script.now))
            try script.sample(10)
            script.wait(100_000_000)
            #expect(try script.session.resume(at: script.now))
            for _ in 0..<40 { try script.sample(100) }
            let stream = try #require(script.session.ordered.first)
            #expect(stream.record.counts.paused == 10)
            #expect(stream.record.counts.written == 4_100)
            #expect(script.session.record.pauses == [SessionRecord.Pause(from: 0.995, to: 1.095)])
        }
    }

    /// A publisher on the recorder's machine shows the corrected date; one on another machine does not.
    @Test func runsThatAreMetAfterTheWallClockWasSetFollowTheOthers() throws {
        try withScript { script in
            script.wait(2 * Self.second)
            let date = script.now.date
            script.setClockForward(30 * Self.second)
            script.restartPublisher(as: "here")
            script.core.take(script.description, at: script.now)
            script.restartPublisher(as: "elsewhere")
            var description = script.description
            description.clock.date = date
            script.core.take(description, at: script.now)
            let epochs = try #require(script.session.ordered.first).record.epochs
            #expect(epochs.map(\.epoch) == ["e", "here", "elsewhere"])
            #expect(epochs.dropFirst().allSatisfy { $0.clock.date == date })
        }
    }

    @Test func aSessionThatIsResumedKnowsThatTheWallClockWasSet() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(duration: 60))
            script.keepLog()
            try script.sample(10)
            script.wait(2 * Self.second)
            script.setClockForward(1_000 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            let (recovered, session) = try script.restart()
            #expect(recovered.record.clockSet == 1_000)
            #expect(session.deadline == 60 * Self.second)
            #expect(session.seconds(at: script.now) == Double(script.time) / 1e9)
        }
    }

    @Test func theWallClockMayBeSetRightWhileNoRecorderRuns() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            script.keepLog()
            try script.sample(10)
            script.setClockForward(3_600 * Self.second)
            script.wait(2 * Self.second)
            script.core.tick(at: script.now)
            script.session.move(to: "walk", at: script.now)
            _ = script.settle()
            script.setClockForward(-3_600 * Self.second)
            script.wait(Self.second)
            let (recovered, session) = try script.restart()
            #expect(recovered.record.clockSet == 3_600)
            #expect(session.seconds(at: script.now) == Double(script.time) / 1e9)
        }
    }

    /// A machine without a real-time clock starts with an old date.
    @Test func aSessionThatIsResumedWithAnOldDateContinuesAfterItsLastChange() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            script.keepLog()
            try script.sample(10)
            script.wait(2 * Self.second)
            script.session.move(to: "walk", at: script.now)
            _ = script.settle()
            script.setClockForward(-86_400 * Self.second)
            let session = try script.restart().session
            #expect(session.seconds(at: script.now) == 2)
            script.setClockForward(86_400 * Self.second)
            script.wait(Self.second)
            #expect(session.seconds(at: script.now) == 3)
        }
    }

    @Test func theEndAndAnnotationsFollowTheSessionThoughTheWallClockWasSet() throws {
        try withScript { script in
            try script.sample(10)
            script.wait(2 * Self.second)
            script.setClockForward(3 * 86_400 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            let session = script.session
            let date = session.record.startDate.adding(script.time)
            let before = script.now.date.adding(-Self.second)
            for from in [nil, before, date.adding(-2 * Self.second)] as [WallTime?] {
                _ = try session.annotate(RecordingAnnotate(session: "s", label: "fall", from: from), at: script.now)
            }
            let dates = [date, before.adding(-3 * 86_400 * Self.second), date.adding(-2 * Self.second)]
            #expect(session.record.annotations?.map(\.from) == dates)
            script.wait(2 * 86_400 * Self.second)
            let repeated = RecordingAnnotate(session: "s", label: "fall", from: before)
            #expect(try !session.annotate(repeated, at: script.now).isNew)
            script.wait(-2 * 86_400 * Self.second)
            script.core.cancel(session, at: script.now)
            #expect(session.record.endDate == date)
        }
    }

    /// The slowest publisher delays the comparisons of the others.
    @Test func aComparisonThatArrivesLateIsJudgedByItsOwnDate() throws {
        try withScript { script in
            script.setClockForward(2 * Self.second)
            let date = script.now.date
            let comparison = ClockComparison(
                endpoint: "tcp://10.0.0.1:5552", date: date, clock: ClockReading(uptime: 1, date: date),
                roundTrip: 0.001)
            script.wait(1_500_000_000)
            script.core.compared(script.session.identifier, [comparison], isLast: false, at: script.now)
            let placed = try #require(script.session.record.clocks.last)
            #expect(placed.date == script.session.record.startDate)
            #expect(placed.offset == 0)
        }
    }

    @Test func comparisonsOfClocksAreInTheLogOnce() throws {
        try withScript { script in
            script.keepLog()
            _ = script.settle()
            for _ in 0..<2 {
                script.wait(Self.second)
                let reading = ClockReading(uptime: 1, date: script.now.date)
                let comparisons = (0..<200).map {
                    ClockComparison(
                        endpoint: "tcp://10.0.0.\($0):5552", date: script.now.date, clock: reading, roundTrip: 0.001)
                }
                let bytes = script.session.appender.count
                script.core.compared(script.session.identifier, comparisons, isLast: false, at: script.now)
                #expect(script.session.appender.count - bytes < 100_000)
                _ = script.settle()
            }
            let (recovered, _) = try script.restart()
            #expect(recovered.record.clocks.map(\.endpoint) == script.session.record.clocks.map(\.endpoint))
            #expect(recovered.record.clocks.count == 400)
        }
    }

    /// Ends a session by its duration of 1 s, at 2 s. The session then waits a minute for results.
    private static func awaitResults(of script: Script) throws {
        script.keepLog()
        try script.sample(10)
        script.wait(2 * second)
        script.core.tick(at: script.now)
        _ = script.settle()
        script.core.listed(script.session.identifier, [script.description], at: script.now)
        script.core.compared(script.session.identifier, [], isLast: true, at: script.now)
        _ = script.settle()
        #expect(script.session.status == .processingResults)
    }

    @Test func aRestartWaitsOnForResults() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(duration: 1, resultsWithin: 60))
            try Self.awaitResults(of: script)
            let end = try #require(script.session.record.endDate)
            script.wait(10 * Self.second)
            let session = try script.restart().session
            #expect(session.resultsDeadline == 62 * Self.second)
            script.core.tick(at: script.now)
            #expect(script.settle().contains("list"))
            script.core.listed(session.identifier, [], at: script.now)
            _ = script.settle()
            #expect(try script.core.takingResults(session.identifier) === session)
            script.wait(60 * Self.second)
            script.core.tick(at: script.now)
            _ = script.settle()
            #expect(script.core.isIdle)
            #expect(session.record.resultsUntil == nil)
            #expect(session.record.endDate == end)
        }
    }

    /// Otherwise, the log would keep the samples of all other sessions for as long as the results are awaited.
    @Test func aSessionThatWaitsForResultsKeepsNothingInTheLog() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(duration: 1, resultsWithin: 600))
            script.storesRecords = true
            try Self.awaitResults(of: script)
            let end = try #require(script.session.record.endDate)
            let position = script.core.logPosition.written
            let other = try script.begin("other")
            try script.sample(10)
            // The sessions are stored one after the other.
            for _ in 0..<2 {
                script.wait(11 * Self.second)
                script.core.tick(at: script.now)
                _ = script.settle()
            }
            #expect(script.session.status == .processingResults)
            #expect(script.session.stored >= position && other.stored >= position)
            #expect(script.removals.last ?? 0 >= position)
            let (recovered, session) = try script.restart()
            #expect(recovered.isFromLog)
            #expect(recovered.record.logs.map(\.files.count) == [1])
            #expect(session.resultsDeadline == 602 * Self.second)
            #expect(session.record.endDate == end)
        }
    }

    @Test func aProgramThatEndsMayLeaveTheWaitForResultsToTheNext() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory, SessionRecord.Limits(duration: 1, resultsWithin: 60))
            try Self.awaitResults(of: script)
            script.core.leaveAll(at: script.now)
            _ = script.settle()
            #expect(script.core.isIdle)
            #expect(script.session.takesResults)
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

    /// The batch after the gap has samples that the publisher had already described.
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

    /// The connection ended during the sleep, so the description at the wake is lost. A replay may come before the next one.
    @Test(arguments: [false, true])
    func samplesReplayedAfterASleepHaveTheirTimes(isDescribed: Bool) throws {
        try withScript { script in
            try script.sample(100)
            script.wait(995_000_000)
            #expect(try script.session.pause(at: script.now))
            script.fallAsleep(for: 300 * Self.second)
            script.wait(1_000_000)
            #expect(try script.session.resume(at: script.now))
            try script.sample(5, isLost: true)
            script.wait(2 * Self.second)
            if isDescribed { script.core.take(script.description, at: script.now) } else { try script.sample(5) }
            try script.replay(100..<105)
            let stream = try #require(script.session.ordered.first)
            #expect(stream.record.counts.paused == 0, "the pause was over")
            #expect(stream.record.counts.written == (isDescribed ? 105 : 110))
            let last = try #require(stream.lastSampleDate).seconds(since: script.session.record.startDate)
            #expect(abs(last - (isDescribed ? 301.04 : 301.09)) < 1e-3)
        }
    }

    /// The publisher keeps samples by its uptime, which stood still during the sleep.
    @Test(arguments: [(600, 100), (3_601.495, 51)] as [(Double, Int)])
    func aSessionFromThePastHasNothingFromBeforeItsStartThoughThePublisherSlept(before: Double, first: Int) throws {
        try withScript { script in
            try script.sample(100)
            script.wait(Self.second)
            script.fallAsleep(for: 3_600 * Self.second)
            try script.sample(100)
            script.wait(Self.second)
            let late = try script.begin("late", before: before)
            try script.replay(0..<100, in: late)
            try script.replay(100..<200, in: late)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.record.epochs.map(\.from) == [first])
            #expect(stream.record.counts.written == 200 - first)
            #expect(stream.gaps.isEmpty)
        }
    }

    @Test func aStreamThatIsMetAfterASleepHasNothingFromBeforeTheSession() throws {
        try withScript { script in
            script.wait(505_000_000)
            let late = try script.begin("late", isAlone: true)
            try script.sample(100)
            script.wait(495_000_000)
            script.fallAsleep(for: 3_600 * Self.second)
            try script.sample(100)
            script.wait(Self.second)
            script.core.take(script.description, at: script.now)
            script.core.configured(LogConfigurations.Answers(isAway: true), at: script.now)
            try script.replay(0..<100, in: late)
            try script.replay(100..<200, in: late)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.record.epochs.map(\.from) == [51])
            #expect(stream.record.counts.written == 149)
            #expect(stream.gaps.isEmpty)
        }
    }

    /// Only the publisher's event port is reachable, and the publisher has run for a long time.
    @Test(arguments: [0, 1_000] as [Int64])
    func aStreamThatIsMetDuringASessionLacksOnlySamplesOfTheSession(clockSetBy seconds: Int64) throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            let late = try script.begin("late", isAlone: true)
            script.setClockForward(seconds * Self.second)
            script.wait(Self.second)
            script.restartPublisher(as: "e", at: 100_000)
            script.core.take(script.description, at: script.now)
            script.core.configured(LogConfigurations.Answers(isAway: true), at: script.now)
            script.wait(Self.second)
            let missing = try #require(script.core.missing(Self.stream, in: late.identifier, at: script.now))
            _ = script.core.giveUp(
                missing.request, reason: .publisherUnreachable, in: late.identifier, at: script.now)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.gaps.map { [$0.from, $0.count] } == [[99_799, 201]])
            #expect(stream.record.epochs.map(\.from) == [99_799])
        }
    }

    /// The publisher's first sample does not have number 0, and no earlier samples exist.
    @Test func theFirstMarkerHasTheNumberOfTheFirstSample() throws {
        try withTemporaryDirectory { directory in
            let script = try Script(in: directory)
            script.keepLog()
            let late = try script.begin("late", isAlone: true)
            script.restartPublisher(as: "m5", at: 500)
            var description = script.description
            description.first = 500
            script.core.take(description, at: script.now)
            script.core.configured(LogConfigurations.Answers(isAway: true), at: script.now)
            try script.sample(10)
            script.core.stop(late.identifier, at: script.now)
            _ = script.settle()
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.record.epochs.map(\.from) == [500])
            #expect(stream.record.counts.written == 10)
            let name = try #require(try late.directory.directory.names().first { $0.hasPrefix("phone") })
            let text = String(decoding: try late.directory.directory.read(name), as: UTF8.self)
            #expect(text.contains(#""from":500"#), "\(text)")
        }
    }

    /// The samples waited while the recorder was not reading.
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

    /// As above, but the recorder was restarted meanwhile, and heard no description of the run that has ended.
    @Test func samplesOfARunThatEndedAroundARestartAreInNoSessionThatBeginsAfterIt() throws {
        try withScript { script in
            script.keepLog()
            try script.sample(5)
            _ = script.settle()
            let (_, first) = try script.restart()
            script.restartPublisher(as: "now")
            let late = try script.begin("late")
            script.restartPublisher(as: "e", at: 5)
            try script.sample(5)
            let stream = try #require(late.streams[Self.stream])
            #expect(stream.record.epochs.map(\.epoch) == ["now"])
            #expect(first.streams[Self.stream]?.intake.next(of: "e") == 10, "they belong to the session that ran then")
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
            // The same names with other types are different columns.
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

    @Test func namesThatWouldMakeEachRecordLongAreRefused() throws {
        try withScript { script in
            let long = String(repeating: "a", count: 1 << 20)
            try expectGap(of: 100, fields: ["uptime", long], script)
            let recording = try #require(script.session.streams[Self.stream])
            #expect(recording.record.fields == ["uptime", "x"])
            #expect(recording.record.files.isEmpty)
            var description = script.description
            description.fields = ["uptime", String(long.prefix(256))]
            let startDate = script.session.record.startDate
            try StreamRecording.check(description, startDate: startDate)
            description.fields = ["uptime", String(long.prefix(257))]
            let refused = description
            #expect(throws: MessageError.self) { try StreamRecording.check(refused, startDate: startDate) }
            description.stream = "other"
            script.core.take(description, at: script.now)
            script.core.configured(LogConfigurations.Answers(isAway: true), at: script.now)
            #expect(script.session.record.failures.contains { $0.hasPrefix("phone/other is not recorded: ") })
        }
    }

    @Test func aBatchWhoseRecordsWouldBeHugeIsAGap() throws {
        try withScript { script in
            // In JSON, each of these bytes takes six.
            let names = (0..<200).map { "\($0)" + String(repeating: "\u{1}", count: 250) }
            try expectGap(of: 1_000, fields: ["uptime"] + names, script)
        }
    }

    /// Takes a batch of two samples, then one of `count` with other fields, which becomes a gap, then another of two.
    private func expectGap(of count: Int, fields: [String], _ script: Script) throws {
        _ = script.settle()
        try script.sample(2)
        let recording = try #require(script.session.streams[Self.stream])
        try script.sample(count, fields: fields)
        #expect(recording.gaps.map { [$0.from, $0.count] } == [[2, count]])
        #expect(recording.gaps.map(\.reason) == [.malformed])
        #expect(recording.lastFault?.code == .outOfRange)
        let bytes = try #require(recording.log.place).bytes
        #expect(bytes < 1 << 16, "the records were not written")
        try script.sample(2)
        _ = script.settle()
        #expect(recording.record.counts.written == 4)
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
            // Records that arrive meanwhile wait for the next block.
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
            // Both blocks, one after the other, and then the session's end.
            let work = script.settle()
            #expect(work.prefix { $0 != "conclude" && $0 != "rebuild" }.count { $0 == "write" } >= 2)
            #expect(script.core.isIdle)
        }
    }

    private static let refusal = RecordingError(
        .inputOutput, action: "sync", path: "/nowhere/.wal/0", reason: "the disk is broken", advice: "")

    /// The recorder is killed after the disk refused one block and accepted later ones.
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

    /// The recorder is killed after the disk refused the log from some block on: only the session's files show that it ended.
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

    /// Checkpoints and restarts write waiting samples into the log again; their number must not grow each time.
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

    /// A repaired copy lacks samples that wait for missing ones, and says so; it has them once they were recorded.
    @Test func aRepairedCopyReportsSamplesThatWaited() throws {
        try withScript { script in
            script.keepLog()
            try script.sample(10)
            try script.sample(10, isLost: true)
            try script.sample(10)
            _ = script.settle()
            let path = script.session.directory.directory.path
            func copy(_ name: String) throws -> SessionRecord {
                try SessionDirectory.recover(
                    copyOf: path, to: path.removingLastComponent().removingLastComponent().appending(name)
                ).record()
            }
            let waiting = try copy("waiting")
            #expect(waiting.logs.map(\.counts.written) == [10])
            #expect(waiting.failures.contains { $0.contains("has 10 samples that waited for missing ones") })

            let identifier = script.session.identifier
            let missing = try #require(script.core.missing(Self.stream, in: identifier, at: script.now))
            _ = script.core.giveUp(missing.request, reason: .notRetained, in: identifier, at: script.now)
            _ = script.settle()
            let whole = try copy("whole")
            #expect(whole.logs.map(\.counts.written) == [20])
            #expect(!whole.failures.contains { $0.contains("waited") })
        }
    }

    /// A failed session gives up missing samples. It lists the gap even if no file accepts the marker.
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

    /// A session that begins while a block is being written must not assume that the block is durable.
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

    /// The document of a new session names a log position. Until the document is replaced, no other session's checkpoint removes
    /// that part of the log.
    @Test func aSessionThatBeginsKeepsTheLogFromWhereItsDocumentSays() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            let position = script.core.logPosition
            let name = try SessionIdentifier("late")
            // The session's document is being written.
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

    /// The recorder asks log-manager again each minute; a changed limit applies to the file being written.
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
            // Without a log-manager, the recorder asks no more often.
            script.core.configured(LogConfigurations.Answers(isAway: true), at: script.now)
            script.wait(59 * Self.second)
            #expect(asked() == [])
            script.wait(2 * Self.second)
            #expect(asked() == ["phone_gyro"])
        }
    }

    /// Stops a session whose last ten samples did not arrive; the publisher's description reveals them.
    private static func stopMissingSamples(of script: Script) throws {
        try script.sample(10)
        _ = script.settle()
        try script.sample(10, isLost: true)
        script.core.stop(script.session.identifier, at: script.now)
        #expect(script.settle().contains("list"))
        script.core.listed(script.session.identifier, [script.description], at: script.now)
    }

    /// The recorder requests the samples once they can no longer be in transit.
    private static func expectRequest(of script: Script) {
        script.wait(second)
        script.core.tick(at: script.now)
        #expect(script.settle().contains("recover"))
    }

    /// The session ends without the samples when clocks are compared.
    private static func expectEnd(of script: Script) {
        script.core.compared(script.session.identifier, [], isLast: true, at: script.now)
        _ = script.settle()
        #expect(script.core.isIdle)
        #expect(script.session.report.streams.map(\.lost) == [10])
    }

    @Test func aStopAsksForWhatIsMissingAndGivesUpInTime() throws {
        try withScript { script in
            try Self.stopMissingSamples(of: script)
            // The samples may still be in transit.
            #expect(!script.settle().contains("recover"))
            Self.expectRequest(of: script)
            let missing = script.core.missing(Self.stream, in: script.session.identifier, at: script.now)
            #expect(missing?.request.from == 10)
            #expect(missing?.request.count == 10)
            // The publisher does not answer.
            script.wait(11 * Self.second)
            script.core.tick(at: script.now)
            #expect(script.settle().contains("compareClocks"))
            Self.expectEnd(of: script)
        }
    }

    /// A relay whose servers have no leader asks the recorder to retry later.
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

    /// Over a slow link, all replies together may take longer than a minute.
    @Test func aStopWaitsAnotherMinuteAfterEachDelivery() throws {
        try withScript { script in
            try Self.stopMissingSamples(of: script)
            Self.expectRequest(of: script)
            var waited = 1
            while !script.settle().contains("compareClocks"), waited < 200 {
                if waited == 51 { try script.replay(10..<15) }
                script.core.putOff(in: script.session.identifier)
                script.wait(10 * Self.second)
                waited += 10
                script.core.tick(at: script.now)
            }
            #expect(waited == 121)
            script.core.compared(script.session.identifier, [], isLast: true, at: script.now)
            _ = script.settle()
            #expect(script.session.report.streams.map(\.lost) == [5])
        }
    }

    @Test func aStopWaitsWhileAReplyArrives() throws {
        try withScript { script in
            try Self.stopMissingSamples(of: script)
            Self.expectRequest(of: script)
            for second in stride(from: 0, to: 240, by: 10) {
                #expect(!script.settle().contains("compareClocks"), "after \(second) s")
                script.core.noteArrival(in: script.session.identifier, at: script.now)
                script.wait(10 * Self.second)
                script.core.tick(at: script.now)
            }
            try script.replay(10..<20)
            #expect(script.settle().contains("compareClocks"))
            script.core.compared(script.session.identifier, [], isLast: true, at: script.now)
            _ = script.settle()
            #expect(script.session.report.streams.map(\.lost) == [0])
        }
    }

    /// Loses the first samples of a publisher's next run, whose other samples arrive before its description.
    private static func meetRunByItsSamples(_ script: Script) throws {
        try script.sample(10)
        script.restartPublisher(as: "f")
        try script.sample(30, isLost: true)
        try script.sample(10)
        #expect(!script.settle().contains("recover"))
    }

    /// A sensor was plugged into another machine. The first sample of its publisher arrives before the first description.
    @Test func samplesOfAnUndescribedRunAreNotRequestedFromTheFormerPublisher() throws {
        try withScript { script in
            try Self.meetRunByItsSamples(script)
            var description = script.description
            description.replay = "tcp://10.0.0.2:5552"
            script.core.take(description, at: script.now)
            #expect(script.settle().contains("recover"))
            let missing = script.core.missing(Self.stream, in: script.session.identifier, at: script.now)
            #expect(missing?.endpoint == "tcp://10.0.0.2:5552")
            #expect(missing?.request.count == 30)
        }
    }

    /// A second session, with ten samples of a publisher that changes before it begins. The write-ahead log is kept.
    private static func secondSession(of script: Script, _ change: (Script) -> Void) throws -> Session {
        script.keepLog()
        _ = script.settle()
        change(script)
        let second = try script.begin("second")
        try script.sample(10)
        return second
    }

    /// The second run has another unit, and the third one the first run's again. The first samples of a run may arrive
    /// before its description.
    @Test(arguments: [false, true])
    func aRunWithAnotherUnitIsRecordedWithIt(isLate: Bool) throws {
        try withScript { script in
            let second = try Self.secondSession(of: script) { $0.unit = "m/s2" }
            for (run, unit) in [("f", "g"), ("h", "m/s2")] {
                script.restartPublisher(as: run)
                script.unit = unit
                if isLate { try script.sample(10) }
                script.core.take(script.description, at: script.now)
                try script.sample(10)
                _ = script.settle()
            }
            let (recovered, _) = try script.restart(resuming: second)
            let log = try #require(recovered.record.logs.first)
            #expect(log.unit == "m/s2" && log.epochs.map(\.unit) == [nil, "g", nil])
            #expect(log.unitChanges?.map(\.epoch) == ["e", "f", "h"] && log.onlyUnit == nil)
            var scanner = try LogScanner(
                second.directory.directory.path.appending(try #require(log.file)), format: .json, root: .array)
            // What a reader of the file alone takes for the unit of the last sample of each run.
            var units: [String: String] = [:]
            var current: (epoch: String, unit: String) = ("", "")
            while let found = try scanner.next() {
                let marker = scanner.record
                if found.isSample {
                    units[current.epoch] = current.unit
                } else {
                    current = (marker.position?.epoch ?? current.epoch, marker["unit"] ?? current.unit)
                }
            }
            #expect(units == ["e": "m/s2", "f": "g", "h": "m/s2"])
        }
    }

    /// The third run's publisher states no unit at first. The first samples of a run may arrive before its description.
    @Test(arguments: [false, true])
    func aRunKeepsItsFirstUnit(isLate: Bool) throws {
        try withScript { script in
            let second = try Self.secondSession(of: script) { $0.unit = "m/s2" }
            for (run, unit) in [("f", "g"), ("h", nil)] as [(String, String?)] {
                script.restartPublisher(as: run)
                script.unit = unit
                if isLate { try script.sample(10) }
                for _ in 0..<2 {
                    script.core.take(script.description, at: script.now)
                    try script.sample(10)
                    script.unit = "rad/s"
                }
                _ = script.settle()
            }
            let (recovered, _) = try script.restart(resuming: second)
            let log = try #require(recovered.record.logs.first)
            #expect(log.unit == "m/s2" && log.epochs.map(\.unit) == [nil, "g", nil])
        }
    }

    /// A publisher that measures its stream's rate does not know it at first.
    @Test(arguments: [100, nil] as [Double?])
    func aRunHasTheFirstRateThatIsStatedForIt(rate: Double?) throws {
        try withScript { script in
            let second = try Self.secondSession(of: script) { $0.rate = rate }
            script.rate = 50
            script.core.take(script.description, at: script.now)
            script.restartPublisher(as: "f")
            for rate in [nil, 20, 30] as [Double?] {
                script.rate = rate
                script.core.take(script.description, at: script.now)
                try script.sample(10)
            }
            _ = script.settle()
            let (recovered, _) = try script.restart(resuming: second)
            let log = try #require(recovered.record.logs.first)
            #expect(log.rate == rate && log.epochs.map(\.rate) == [nil, 20])
        }
    }

    /// The recorder is killed before it receives the description, or right after that.
    @Test(arguments: [false, true])
    func aRestartedRecorderRequestsSamplesOfARunFromItsPublisher(isDescribed: Bool) throws {
        try withScript { script in
            script.keepLog()
            try Self.meetRunByItsSamples(script)
            var description = script.description
            description.replay = "tcp://10.0.0.2:5552"
            if isDescribed {
                script.core.take(description, at: script.now)
                // The description is committed with these samples.
                try script.sample(10)
                _ = script.settle()
            }
            let session = try script.restart().session
            if isDescribed {
                try script.sample(10)
            } else {
                #expect(!script.settle().contains("recover"))
                script.core.take(description, at: script.now)
            }
            #expect(script.settle().contains("recover"))
            let missing = script.core.missing(Self.stream, in: session.identifier, at: script.now)
            #expect(missing?.endpoint == "tcp://10.0.0.2:5552")
            #expect(missing?.request.count == 30)
        }
    }

    /// The request was never answered. `relay lead` repeats its own, which is for the past.
    @Test(arguments: [nil, 5] as [Double?])
    func aSessionFromThePastRunsThoughTheRecorderWasKilledWhileItBegan(before: Double?) throws {
        try withScript { script in
            script.keepLog()
            script.wait(10 * Self.second)
            try script.sample(1_000)
            _ = script.settle()
            let late = try script.begin("late", before: before, isInterrupted: true)
            _ = script.settle()
            let (recovered, session) = try script.restart(resuming: late)
            #expect(recovered.record.status == .starting && recovered.record.logs.count == 1)
            #expect(session.status == (before == nil ? .failed : .running))
        }
    }

    /// A device that numbers its samples moved to another publisher. The former one still lists its stream.
    @Test func aSessionEndsAtTheFurthestDescription() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            var former = script.description
            former.replay = "tcp://10.0.0.2:5552"
            try script.sample(10, isLost: true)
            #expect([former, script.description].furthest == [script.description])
            script.core.stop(script.session.identifier, at: script.now)
            _ = script.settle()
            script.core.listed(script.session.identifier, [former, script.description], at: script.now)
            Self.expectRequest(of: script)
            let missing = script.core.missing(Self.stream, in: script.session.identifier, at: script.now)
            #expect(missing?.endpoint == "tcp://10.0.0.1:5552")
            try script.replay(10..<20)
            _ = script.settle()
            #expect(script.session.report.streams.map(\.received) == [20])
            #expect(script.session.report.streams.map(\.lost) == [0])
        }
    }

    @Test func samplesOfARunThatIsNeverDescribedAreRequestedFromTheFormerPublisher() throws {
        try withScript { script in
            try Self.meetRunByItsSamples(script)
            script.wait(3 * Self.second)
            script.core.tick(at: script.now)
            #expect(script.settle().contains("recover"))
            let missing = script.core.missing(Self.stream, in: script.session.identifier, at: script.now)
            #expect(missing?.endpoint == "tcp://10.0.0.1:5552")
        }
    }

    /// A stopped session takes nothing from a run that began after the stop.
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

    /// A publisher that did not announce its endpoint may be heard again when nothing seems to be missing any more.
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
            // The publisher does not answer.
            script.wait(11 * Self.second)
            script.core.tick(at: script.now)
            #expect(!script.settle().contains("compareClocks"))
            #expect(script.core.isIdle)
        }
    }

    /// A recorder that is killed before it closes the session does not publish the gap afterwards.
    @Test func aGapThatShowsWhenASessionIsStoppedIsPublishedAtOnce() throws {
        try withScript { script in
            try script.sample(10)
            _ = script.settle()
            // The publisher may have sampled on before it restarted, and the recorder hears neither.
            script.wait(10 * Self.second)
            script.restartPublisher(as: "next")
            script.core.stop(script.session.identifier, at: script.now)
            _ = script.effects()
            script.core.listed(script.session.identifier, [script.description], at: script.now)
            #expect(script.session.ordered.first?.gaps.map(\.epoch) == ["e"])
            let published = script.effects().compactMap { effect -> Gap? in
                if case .notice(.publish(let event)) = effect { (event as? RecordingEvent)?.gap } else { nil }
            }
            #expect(published.map(\.epoch) == ["e"])
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
            // The recorder does not wait for later samples: the next one triggers the request.
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
            // A publisher of an older version took the first one's place, then one with a sensor.
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
    /// The name of an effect on the disk or on publishers; nil for mere notifications.
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
