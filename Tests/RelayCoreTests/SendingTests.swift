import Files
import MessageBus
import Messages
import Recording
import ServiceKit
import SystemPackage
import TestSupport
import Testing

@testable import RelayCore

/// The decisions of a sending relay, in virtual time, with servers that answer as a test decides.
@Suite(.timeLimit(.minutes(1)))
struct SendingTests {
    /// A publisher, a spool and servers, in memory.
    private final class World {
        private static let second: Int64 = 1_000_000_000

        let name = StreamName(device: "d", stream: "s")
        var core: Sending
        var time: Int64 = 0
        /// The durable events with the positions of their blocks, in order.
        var spool: [(event: RelayedEvent, position: Int)] = []
        var end = 0
        /// The batches of samples that the servers have.
        var stored: [BatchPlace] = []
        /// The descriptions that the servers have.
        var descriptions: [RelayedMessage] = []
        /// Messages without an answer.
        var sent: [Sending.Message] = []
        /// Whether messages reach the library that sends them.
        var isHandingOver = false
        /// The largest message that the servers accept, in bytes.
        var acceptedBytes = Int.max
        var settings = Sending.Settings(
            site: "lab", servers: "nats://n", publishers: "tcp://p", spoolLimit: 1 << 20, holdLimit: 1 << 20,
            interval: 100_000_000, maximumStreams: 10)
        /// Whether writes to the spool fail.
        var isDiskFull = false
        /// Whether writes to the spool do not end, and the block of the write that did not.
        var isDiskHanging = false
        var unwritten: LogBlock?
        /// Whether the spool keeps acknowledged events: it deletes only whole segments.
        var keepsSpool = false
        var recoveries = 0
        /// How often the core said that something is lost, and how long health reports what servers refuse.
        var losses = 0
        var refusalLife: Duration?
        /// Whether the servers' stream is missing because it was deleted.
        var isStreamMissing = false
        /// How often the relay looked for the stream, and how often it made it.
        var preparations = 0
        var made: Int64 = 1

        init() { core = Sending(settings, Sending.Spool(log: "l", start: 0, end: 0, synced: 0), at: Self.moment(0)) }

        /// A connected world that knows a stream whose next sample has this number.
        static func describing(next: Int, _ change: (inout Sending.Settings) -> Void = { _ in }) throws -> World {
            let world = World()
            change(&world.settings)
            world.restart()
            world.connect()
            try world.describe(next: next)
            world.drain()
            return world
        }

        /// A world whose first samples are on the servers, and whose disk is full when the next ten arrive.
        static func fillingDisk() throws -> World {
            let world = try describing(next: 0)
            try world.publish(0..<10)
            world.pass(0.15)
            world.drain()
            world.isDiskFull = true
            try world.publish(10..<20)
            return world
        }

        /// A world whose servers are gone, and whose spool is small.
        static func disconnected(spoolLimit: Int) throws -> World {
            let world = try describing(next: 0) { $0.spoolLimit = spoolLimit }
            world.core.noteConnected(false, "gone", at: world.now)
            return world
        }

        static func moment(_ time: Int64) -> Moment {
            Moment(monotonic: time, date: WallTime(seconds: 1_000 + Double(time) / 1e9))
        }

        var now: Moment { Self.moment(time) }

        /// Starts another program on the same spool, without the events that were not durable.
        func restart() {
            var left = Sending.Spool(log: "l", start: spool.first?.position ?? end, end: end, synced: end)
            for (event, _) in spool { if let place = event.place { left.note(place, of: event.name) } }
            sent = []
            core = Sending(settings, left, at: now)
            perform()
        }

        /// Carries out the core's effects.
        func perform() {
            var effects = core.takeEffects()
            while !effects.isEmpty {
                for effect in effects { carryOut(effect) }
                effects = core.takeEffects()
            }
        }

        private func carryOut(_ effect: Sending.Effect) {
            switch effect {
            case .store(let block) where isDiskHanging: unwritten = block
            case .store(let block):
                guard !isDiskFull else {
                    let error = RecordingError(
                        .noSpace, action: "write", path: "/spool", reason: "full", advice: "make room")
                    return core.stored(block, error, at: now)
                }
                block.forEachFrame { frame in
                    if let event = frame.event.flatMap({ RelayedEvent($0) }) { spool.append((event, block.position)) }
                }
                end = block.end
                core.stored(block, nil, at: now)
            case .load(let start, let end, _):
                core.loaded(spool.filter { ($0.position >= start) && $0.position < end }, next: end, at: now)
            case .trim(let position, _): if !keepsSpool { spool.removeAll { $0.position < position } }
            case .prepare:
                preparations += 1
                if isStreamMissing { (isStreamMissing, made, stored, descriptions) = (false, made + 1, [], []) }
                core.prepared(
                    .success(
                        Sending.Servers(
                            version: "2.15.1", isOld: false, canSync: true, replicas: 3,
                            duplicateWindow: 3_600 * Self.second, made: made)), at: now)
            case .ask(let name, _) where isStreamMissing:
                core.answered(name, .failure(SentenceError("stream not found")), at: now)
            case .ask(let name, let isDescriptionWanted):
                let described = isDescriptionWanted ? descriptions.last?.events[0].publishedAt : nil
                let last = name == self.name ? stored.last : nil
                core.answered(name, .success(Sending.Stored(last: last, describedAt: described)), at: now)
            case .publish(let messages):
                sent += messages
                if isHandingOver { core.handedOver(messages, at: now) }
            case .recover: recoveries += 1
            case .notice(.lost): losses += 1
            case .notice(.report(_, _, for: "refused", lasting: let life)): refusalLife = life
            case .notice(.clear("refused")): refusalLife = nil
            case .subscribe, .notice: break
            }
        }

        func endHang() {
            isDiskHanging = false
            if let block = unwritten { carryOut(.store(block)) }
            unwritten = nil
            perform()
        }

        func connect() {
            core.noteConnected(true, nil, at: now)
            perform()
        }

        func pass(_ seconds: Double) {
            let end = time + Int64(seconds * 1e9)
            while core.nextDeadline <= end {
                time = max(time, core.nextDeadline)
                core.wake(at: now)
                perform()
            }
            time = end
        }

        func describe(
            next: Int, epoch: String = "e", state: StreamDescription.State = .running, of stream: String = "s"
        ) throws {
            let description = StreamDescription(
                source: "p", sequence: 0, device: "d", stream: stream, epoch: epoch, state: state,
                fields: ["uptime", "x"],
                packed: false, nextSequence: next, replay: "tcp://r", clock: ClockReading(uptime: 0, date: now.date))
            try take(description.topic, try WireCoding.encode(description))
        }

        /// Publishes samples, each with its number in every column.
        func publish(
            _ range: Range<Int>, of stream: String = "s", epoch: String = "e", columns: Int = 2, isPacked: Bool = false
        ) throws {
            let encoder = SampleBatchEncoder(
                source: "p", device: "d", stream: stream, epoch: epoch,
                fields: ["uptime"] + (1..<columns).map { "x\($0)" }, isPacked: isPacked)
            let rows = range.flatMap { [Double](repeating: Double($0), count: columns) }
            var body = ByteBuffer(capacity: 1_024)
            var matrix = ByteBuffer(capacity: 1_024)
            rows.withUnsafeBufferPointer {
                encoder.encode(
                    sequence: range.lowerBound, count: range.count, clock: ClockReading(uptime: 0, date: now.date),
                    rows: $0, into: &body)
                if isPacked { encoder.encodePacked($0, into: &matrix) }
            }
            let packed = matrix.withUnsafeBytes { Array($0) }
            try take(
                "\(TopicArea.samples)d/\(stream)", body.withUnsafeBytes { Array($0) }, packed: isPacked ? packed : nil)
        }

        private func take(_ topic: String, _ body: [UInt8], packed: [UInt8]? = nil) throws {
            try Array(topic.utf8).withUnsafeBytes { topic in
                try body.withUnsafeBytes { body in
                    try EventTime.text(of: now.date).withUnsafeBytes { time in
                        try packed.withOptionalBytes { packed in
                            _ = try core.take(
                                EventFrames(topic: topic, body: body, time: time, packed: packed), at: now)
                        }
                    }
                }
            }
            perform()
        }

        /// Answers the messages that were sent.
        func answer(_ outcome: Sending.Outcome, isStored: Bool) {
            let messages = sent
            sent = []
            func isAccepted(_ message: Sending.Message) -> Bool { message.content.data.count <= acceptedBytes }
            for message in messages where isStored && isAccepted(message) {
                if let place = message.content.place {
                    if message.content.name == name, stored.last != place { stored.append(place) }
                } else {
                    descriptions.append(message.content)
                }
            }
            let refused = Sending.Outcome.tooLarge("Maximum Payload")
            core.acknowledged(messages.map { ($0.identifier, isAccepted($0) ? outcome : refused) }, at: now)
            perform()
        }

        /// Stores messages until no more are sent.
        func drain() {
            for _ in 0..<100 {
                answer(.stored(isRepeat: false), isStored: true)
                pass(0.1)
                if sent.isEmpty { return }
            }
        }

        /// The samples on the servers, as a reader sees them that drops duplicates.
        var samples: [Int] {
            var next = 0
            return stored.flatMap { place -> [Int] in
                let new = max(next, place.from)..<max(next, place.end)
                next = max(next, place.end)
                return Array(new)
            }
        }
    }

    @Test func samplesAreSentOnceTheyAreDurable() throws {
        let world = World()
        world.connect()
        try world.describe(next: 0)
        try world.publish(0..<10)
        #expect(world.sent.isEmpty)
        world.pass(0.15)
        // The description is sent first.
        #expect(world.sent.map(\.content.isDescription) == [true])
        world.answer(.stored(isRepeat: false), isStored: true)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+10"])
        world.drain()
        #expect(world.samples == Array(0..<10))
        #expect(world.core.samplesAcknowledged == 10)
        world.pass(2)
        #expect(world.spool.isEmpty)
    }

    @Test func batchesThatFollowOneAnotherAreOneMessage() throws {
        let world = try World.describing(next: 0)
        for first in stride(from: 0, to: 100, by: 10) { try world.publish(first..<first + 10) }
        world.pass(0.15)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+100"])
        #expect(world.sent[0].content.events.count == 10)
    }

    /// A stream has one message in flight at a time, and the same one is repeated until it is known to be stored.
    @Test func whatIsUnknownIsSentAgainAsItWas() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.pass(0.15)
        try world.publish(10..<20)
        world.pass(0.15)
        let first = world.sent
        #expect(first.count == 1)
        world.answer(.unknown("timeout"), isStored: true)
        #expect(world.sent.isEmpty)
        world.pass(0.2)
        #expect(world.sent == first)
        world.answer(.stored(isRepeat: true), isStored: false)
        world.drain()
        #expect(world.samples == Array(0..<20))
        #expect(world.stored.count == 2)
        #expect(world.core.repeats == 1)
    }

    /// Servers may remember the identifier of a message that was lost with their leader.
    @Test func aRepeatIsBelievedIfTheServersHaveIt() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.pass(0.15)
        for copy in ["", "/1", "/2"] {
            #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+10\(copy)"])
            world.answer(.unknown("timeout"), isStored: false)
            world.pass(5)
            // The same message again, until its outcome is known.
            #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+10\(copy)"])
            world.answer(.stored(isRepeat: true), isStored: false)
        }
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+10/3"])
        world.answer(.stored(isRepeat: false), isStored: true)
        #expect(world.core.samplesAcknowledged == 10)
        try world.publish(10..<20)
        world.pass(0.15)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/10+10"])
    }

    @Test func whileServersAreAwayTheSpoolHasEverythingAlsoForTheNextProgram() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.pass(0.15)
        world.drain()
        world.core.noteConnected(false, "gone", at: world.now)
        for first in stride(from: 10, to: 60, by: 10) {
            try world.publish(first..<first + 10)
            world.pass(0.15)
        }
        world.restart()
        try world.publish(60..<70)
        world.pass(0.15)
        world.restart()
        world.connect()
        world.pass(0.15)
        world.drain()
        #expect(world.samples == Array(0..<70))
        #expect(world.core.samplesLost == 0)
    }

    /// After the servers' deduplication window a message would be stored twice, so the relay first asks what they have.
    @Test func whatServersHaveIsNotSentAgain() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.pass(0.15)
        // The message is stored, and the relay ends before it knows.
        world.stored.append(BatchPlace(epoch: "e", from: 0, count: 10))
        world.restart()
        world.connect()
        world.pass(0.15)
        world.drain()
        #expect(world.stored.count == 1)
        try world.describe(next: 10)
        try world.publish(10..<20)
        world.pass(0.15)
        world.drain()
        #expect(world.samples == Array(0..<20))
    }

    /// The servers no longer recognize the message after an outage that is longer than their duplicate window.
    @Test func whatMayBeStoredIsNotSentAgainAfterALongOutage() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.pass(0.15)
        // The message is stored, but its acknowledgement is lost with the connection.
        world.stored.append(BatchPlace(epoch: "e", from: 0, count: 10))
        world.answer(.unknown("timeout"), isStored: false)
        world.core.noteConnected(false, "gone", at: world.now)
        world.pass(7_200)
        world.connect()
        #expect(world.sent.isEmpty)
        #expect(world.core.samplesAcknowledged == 10)
        try world.publish(10..<20)
        world.pass(0.15)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/10+10"])
    }

    /// A repeated description would count as news: an old failure would appear in a running session.
    @Test func descriptionsThatServersHaveAreNotSentAgain() throws {
        let world = World()
        world.keepsSpool = true
        world.connect()
        for (next, state) in [(0, .running), (10, .failed), (10, .running)] as [(Int, StreamDescription.State)] {
            if next > 0, state == .failed { try world.publish(0..<10) }
            try world.describe(next: next, state: state)
            world.pass(0.15)
            world.drain()
        }
        #expect(world.descriptions.count == 3)
        world.restart()
        world.connect()
        world.pass(0.15)
        world.drain()
        #expect(world.descriptions.count == 3)
        #expect(world.samples == Array(0..<10))
        #expect(world.core.spoolBytes == 0)
        // A description that the servers lack is sent again.
        world.core.noteConnected(false, "gone", at: world.now)
        try world.describe(next: 10, state: .stopped)
        world.pass(0.15)
        world.restart()
        world.connect()
        world.pass(0.15)
        world.drain()
        #expect(world.descriptions.count == 4)
        #expect(String(decoding: world.descriptions[3].data, as: UTF8.self).contains("stopped"))
    }

    /// More runs than the relay remembers.
    @Test func samplesOfManyRunsThatServersHaveAreNotSentAgain() throws {
        let world = World()
        world.keepsSpool = true
        world.connect()
        for run in 0..<70 {
            try world.describe(next: 0, epoch: "e\(run)")
            try world.publish(0..<10, epoch: "e\(run)")
            world.pass(0.15)
            world.drain()
        }
        #expect(world.stored.count == 70)
        world.restart()
        world.connect()
        world.pass(0.15)
        #expect(world.sent.isEmpty)
        #expect(world.core.spoolBytes == 0)
    }

    @Test func whatWasUnderWayWhenTheConnectionWasGivenUpIsSentAgain() throws {
        let world = try World.describing(next: 0)
        world.drain()
        try world.publish(0..<10)
        world.pass(0.15)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+10"])
        world.sent = []
        world.core.noteGivenUp(at: world.now)
        world.pass(10)
        #expect(world.sent.isEmpty)
        world.connect()
        world.pass(1)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/0+10"])
    }

    /// Such as after this machine's date was set back, by which the library measures its limit.
    @Test(arguments: [true, false])
    func aMessageOnWhichTheLibraryDoesNotReportIsSentAgain(isHandedOver: Bool) throws {
        let world = try World.describing(next: 0)
        world.isHandingOver = isHandedOver
        try world.publish(0..<10)
        world.pass(0.15)
        world.sent = []
        world.pass(9)
        #expect(world.sent.isEmpty)
        world.pass(3)
        // Handed over again, a message that still waits for the library would only wait twice.
        #expect(world.sent.map(\.identifier) == (isHandedOver ? ["lab/d/s/e/0+10"] : []))
        world.drain()
        #expect(world.samples == (isHandedOver ? Array(0..<10) : []))
    }

    /// Servers answer the same while they have no leader: the relay checks the stream, but not every time.
    @Test func aStreamThatWasDeletedIsMadeAgain() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.pass(0.15)
        world.drain()
        world.pass(5)
        try world.publish(10..<20)
        world.pass(0.15)
        world.isStreamMissing = true
        for _ in 0..<3 {
            world.answer(.notStored("No responders"), isStored: false)
            world.pass(0.5)
        }
        #expect(world.preparations == 2)
        #expect(world.sent.map(\.identifier) == ["lab/d/s/e/10+10"])
        world.drain()
        #expect(world.stored == [BatchPlace(epoch: "e", from: 10, count: 10)])
        // The stream has no description yet.
        try world.describe(next: 20)
        world.pass(0.15)
        world.drain()
        #expect(world.descriptions.count == 1)
        #expect(world.preparations == 2)
    }

    @Test func aStreamThatIsMissingWhenServersAreAskedIsMadeAgain() throws {
        let world = World()
        world.connect()
        world.isStreamMissing = true
        try world.describe(next: 0)
        world.pass(5)
        #expect(!world.isStreamMissing)
        try world.publish(0..<10)
        world.pass(0.15)
        world.drain()
        #expect(world.samples == Array(0..<10))
    }

    @Test func aFullSpoolTakesNothingAndRequestsItLater() throws {
        let world = try World.disconnected(spoolLimit: 1_000)
        var next = 0
        while !world.core.isFull {
            try world.publish(next..<next + 10)
            next += 10
        }
        world.pass(0.15)
        let taken = next
        for _ in 0..<10 {
            try world.publish(next..<next + 10)
            next += 10
        }
        #expect(world.core.samplesTaken == taken)
        #expect(world.recoveries == 0)
        world.connect()
        world.pass(0.15)
        world.drain()
        #expect(!world.core.isFull)
        try world.describe(next: next)
        #expect(world.recoveries == 1)
        #expect(world.core.missing(world.name, at: world.now)?.request.from == taken)
        #expect(world.core.samplesLost == 0)
    }

    @Test func whatCouldNotBeWrittenIsRequestedAgain() throws {
        let world = try World.fillingDisk()
        world.pass(0.15)
        #expect(world.core.isBlocked)
        world.isDiskFull = false
        world.pass(2.5)
        try world.describe(next: 20)
        #expect(world.core.missing(world.name, at: world.now)?.request.from == 10)
    }

    @Test func whatCouldNotBeWrittenDoesNotFillTheSpool() throws {
        let world = try World.disconnected(spoolLimit: 20_000)
        try world.publish(0..<10)
        world.pass(0.15)
        let stored = world.core.spoolBytes
        world.isDiskFull = true
        for _ in 0..<200 {
            try world.describe(next: 10)
            world.pass(2.5)
        }
        world.isDiskFull = false
        try world.describe(next: 10)
        world.pass(0.15)
        // Their positions are used up.
        #expect(world.end > 2 * world.settings.spoolLimit)
        #expect(!world.core.isFull)
        #expect((stored + 1..<stored + 2_000).contains(world.core.spoolBytes))
        world.connect()
        world.pass(0.15)
        world.drain()
        #expect(world.samples == Array(0..<10))
        #expect(world.core.spoolBytes == 0)
    }

    /// The relay may restart while the disk is full, or later.
    @Test func positionsOfFailedWritesDoNotFillTheSpoolOfTheNextProgram() throws {
        try withTemporaryDirectory { path in
            let directory = Directory(path.appending("spool"))
            let log = WriteAheadLog(in: directory, synced: 0)
            for position in [0, 100_000] {
                let appender = LogAppender(log: "l", position: position)
                [UInt8](repeating: 1, count: 4).withUnsafeBytes {
                    appender.append(eventAt: $0, body: $0, time: $0, packed: nil)
                }
                let block = try #require(appender.takeBlock())
                try log.append(block)
            }
            let (spool, damage) = try Sending.Spool.open(directory, log: "m")
            #expect(damage == nil && spool.synced > 100_000)
            let core = Sending(World().settings, spool, at: World.moment(0))
            #expect((1..<1_000).contains(core.spoolBytes))
        }
    }

    @Test func whileTheDiskHangsMemoryIsBounded() throws {
        let world = try World.describing(next: 0) { $0.backlogBytes = 20_000 }
        world.isDiskHanging = true
        for first in stride(from: 0, to: 2_000, by: 10) {
            try world.publish(first..<first + 10)
            world.pass(0.15)
        }
        #expect(world.core.isBlocked && !world.core.isFull)
        #expect(world.core.appender.count < 25_000)
        let taken = world.core.samplesTaken
        #expect(taken < 2_000)
        world.endHang()
        world.pass(1.5)
        #expect(world.core.missing(world.name, at: world.now)?.request.from == taken)
        world.drain()
        #expect(world.samples == Array(0..<taken))
        #expect(world.core.samplesLost == 0)
    }

    /// Such as by a bit that flipped in the first of many segments.
    @Test func segmentsAfterDamageInTheSpoolAreSent() throws {
        try withTemporaryDirectory { path in
            let directory = Directory(path.appending("spool"))
            let log = WriteAheadLog(in: directory, synced: 0)
            // Each block has a segment.
            let appender = LogAppender(log: "l", position: 0, segmentLength: 1)
            let encoder = SampleBatchEncoder(
                source: "p", device: "d", stream: "s", epoch: "e", fields: ["uptime", "x"], isPacked: false)
            for first in [0, 10, 20] {
                var body = ByteBuffer(capacity: 1_024)
                [Double](repeating: 0, count: 20).withUnsafeBufferPointer {
                    encoder.encode(
                        sequence: first, count: 10, clock: ClockReading(uptime: 0, date: World.moment(0).date),
                        rows: $0, into: &body)
                }
                let bytes = body.withUnsafeBytes { Array($0) }
                Array("\(TopicArea.samples)d/s".utf8).withUnsafeBytes { topic in
                    bytes.withUnsafeBytes { appender.append(eventAt: topic, body: $0, time: $0, packed: nil) }
                }
                let block = try #require(appender.takeBlock())
                try log.append(block)
            }
            let file = directory.path.appending(WriteAheadLog.name(of: 0))
            try OpenFile(file, .readWrite, action: "damage").write([0xFF], at: 40)
            let (spool, damage) = try Sending.Spool.open(directory, log: "m")
            #expect(damage?.path == file)
            #expect(spool.streams[StreamName(device: "d", stream: "s")]?.last.end == 30)
            let core = Sending(World().settings, spool, at: World.moment(0))
            var events: [(event: RelayedEvent, position: Int)] = []
            _ = try LogCursor(in: directory, at: spool.start).read(
                from: spool.start, upTo: spool.synced, limit: .max
            ) { frame in
                if let event = frame.event.flatMap({ RelayedEvent($0) }) { events.append((event, frame.position)) }
            }
            core.loaded(events, next: spool.synced, at: World.moment(0))
            #expect(Array(core.waiting).map(\.event.place?.from) == [10, 20])
        }
    }

    @Test func aStopStoresWhatWasTaken() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        world.core.stop(at: world.now)
        world.perform()
        #expect(world.core.isStored)
        #expect(!world.core.isOver)
        world.drain()
        #expect(world.core.isOver)
    }

    @Test func aPublisherMayStartAnewWhileItsSamplesAreMissing() throws {
        let world = try World.describing(next: 0)
        try world.publish(0..<10)
        try world.publish(20..<30)
        try world.publish(40..<50)
        try world.describe(next: 0, epoch: "later")
        world.pass(1)
        world.answer(.stored(isRepeat: false), isStored: true)
        // Samples that had arrived are sent; the rest is lost with its publisher.
        #expect(world.core.samplesTaken == 30)
        #expect(world.core.samplesLost == 20)
    }

    @Test func whatCouldNotBeWrittenOfARunThatIsOverIsLost() throws {
        let world = try World.fillingDisk()
        try world.describe(next: 0, epoch: "later")
        world.pass(0.15)
        #expect(world.core.isBlocked)
        #expect(world.core.samplesLost == 10)
    }

    @Test func anEventFromLongAgoHasAnAge() {
        let event = RelayedEvent(
            name: StreamName(device: "d", stream: "s"), place: nil, body: [], packed: nil,
            time: Array("-9000000000".utf8))
        let date = WallTime(nanosecondsSince1970: 1_800_000_000_000_000_000)
        #expect(event.age(at: date) == .max)
    }

    @Test func whatIsNotTakenOfARunThatEndsMeanwhileIsLost() throws {
        let world = try World.fillingDisk()
        world.pass(0.15)
        #expect(world.core.isBlocked)
        try world.publish(20..<30)
        try world.describe(next: 0, epoch: "later")
        #expect(world.core.samplesLost == 20)
    }

    @Test func aWholeRunThatIsNotTakenIsLost() throws {
        let world = try World.fillingDisk()
        world.pass(0.15)
        #expect(world.core.isBlocked)
        try world.describe(next: 5, epoch: "second")
        try world.describe(next: 0, epoch: "third")
        #expect(world.core.samplesLost == 15)
    }

    @Test func whatCameBeforeAStreamWasMetIsNotLost() throws {
        let world = World()
        world.connect()
        for _ in 0..<2 { try world.describe(next: 5) }
        #expect(world.recoveries == 1)
        try world.describe(next: 0, epoch: "later")
        #expect(world.core.samplesLost == 0)
    }

    // MARK: Large messages

    /// A world that knows both streams and keeps little in memory.
    private static func worldWithStreams(_ first: String, _ second: String) throws -> World {
        let world = World()
        world.settings.windowBytes = 20_000
        world.restart()
        world.connect()
        for stream in [first, second] { try world.describe(next: 0, of: stream) }
        world.drain()
        return world
    }

    /// The values of a batch, after a check that the batch is well-formed.
    private static func values(of event: RelayedEvent) throws -> [Double] {
        let batch = try WireCoding.decode(SampleBatch.self, from: event.body)
        #expect(event.place == BatchPlace(epoch: batch.epoch, from: batch.sequence, count: batch.count))
        #expect(batch.source == "p" && batch.topic == event.topic && batch.fields == ["uptime", "x1"])
        if let values = batch.values { return values.flatMap { $0 } }
        let packed = try #require(event.packed)
        return packed.withUnsafeBytes { bytes in
            stride(from: 0, to: bytes.count, by: 8).map { bytes.loadUnaligned(fromByteOffset: $0, as: Double.self) }
        }
    }

    @Test(arguments: [false, true])
    func aBatchThatIsLargerThanAMessageIsCut(isPacked: Bool) throws {
        let world = try World.describing(next: 0)
        let count = 40_000
        try world.publish(0..<count, isPacked: isPacked)
        world.pass(0.15)
        var values: [Double] = []
        while let message = world.sent.first {
            #expect(message.content.data.count <= 256 << 10)
            for event in message.content.events { values += try Self.values(of: event) }
            world.answer(.stored(isRepeat: false), isStored: true)
        }
        #expect(values == (0..<count).flatMap { [Double($0), Double($0)] })
        #expect(world.samples == Array(0..<count))
        #expect(world.core.samplesAcknowledged == count)
        #expect(world.core.spoolBytes == 0)
    }

    @Test func whatServersRefuseAsTooLargeFollowsInSmallerMessages() throws {
        let world = try World.describing(next: 0)
        world.acceptedBytes = 20_000
        for first in stride(from: 0, to: 1_000, by: 10) { try world.publish(first..<first + 10) }
        try world.publish(1_000..<6_000)
        world.pass(0.15)
        world.drain()
        #expect(world.samples == Array(0..<6_000))
        #expect(world.core.samplesLost == 0)
        #expect(world.core.spoolBytes == 0)
    }

    /// Otherwise it would block everything that follows in the spool.
    @Test func aSampleThatIsTooLargeIsLostAndHoldsNothingUp() throws {
        let world = try Self.worldWithStreams("s", "large")
        world.acceptedBytes = 2_000
        for number in 0..<100 {
            try world.publish(number..<number + 1, of: "large", columns: 1_000)
            try world.publish(number * 10..<number * 10 + 10)
            world.pass(0.15)
            world.drain()
            #expect(world.core.spoolBytes == 0 && world.core.waitingBytes == 0)
        }
        #expect(world.core.samplesLost == 100)
        #expect(world.samples == Array(0..<1_000))
    }

    @Test func aDescriptionThatIsTooLargeIsReported() throws {
        let world = World()
        world.connect()
        world.acceptedBytes = 10
        try world.describe(next: 0)
        world.pass(0.15)
        world.drain()
        #expect(world.losses == 1)
        world.acceptedBytes = .max
        try world.publish(0..<10)
        world.pass(2)
        world.drain()
        #expect(world.samples == Array(0..<10))
        #expect(world.refusalLife == .seconds(60))
    }

    @Test func whatIsAcknowledgedLeavesMemoryAlsoIfSomethingBeforeItIsNot() throws {
        let world = try Self.worldWithStreams("s", "stuck")
        try world.publish(0..<1, of: "stuck")
        world.pass(0.15)
        // Its acknowledgement never arrives.
        world.sent = []
        for first in stride(from: 0, to: 2_000, by: 10) {
            try world.publish(first..<first + 10)
            world.pass(0.15)
            world.drain()
        }
        #expect(world.samples == Array(0..<2_000))
        #expect(Array(world.core.waiting).reduce(0) { $0 + $1.event.byteCount } < 20_000)
    }
}
