import Logging
import MessageBus
package import Messages
package import ServiceKit

/// The state and decisions of a relay that serves streams from NATS to recorders, step counters and consoles, as their publishers
/// would.
///
/// `Serving` receives events with their time and returns effects. Confined to one thread.
package final class Serving: ProgramCore {
    /// Work for the caller.
    package enum Effect: CoreEffect, Sendable {
        case send(RelayedEvent)
        case describe(StreamDescription)
        indirect case notice(Notice)
    }

    package struct Settings: Sendable {
        package var servers: String
        package var maximumStreams: Int

        package init(servers: String, maximumStreams: Int) {
            self.servers = servers
            self.maximumStreams = maximumStreams
        }
    }

    package struct Message: Sendable {
        package let content: RelayedMessage
        /// The name of the site that sent the message.
        package let site: String
        /// The message's number in the NATS stream.
        package let sequence: UInt64
        /// When the servers stored the message, in nanoseconds since 1970.
        package let time: Int64
        /// When the first event in the message was published at its site.
        var publishedAt: WallTime? { content.events[0].publishedAt }

        package init(_ content: RelayedMessage, site: String, sequence: UInt64, time: Int64) {
            self.content = content
            self.site = site
            self.sequence = sequence
            self.time = time
        }
    }

    /// The interval between descriptions, in nanoseconds.
    private static let interval: Int64 = 1_000_000_000
    /// A stream is no longer described if nothing of it arrived for this long, in nanoseconds.
    package static let memory: Int64 = 3_600_000_000_000
    /// After this many returns to former runs, a stream is taken for that of several publishers. At a restart, late messages
    /// of the former run may return to it once or twice.
    private static let maximumReturns = 10
    /// The maximum number of a stream's former runs that are remembered for that.
    private static let rememberedRuns = 8

    private let settings: Settings
    private let source: String
    package var effects: [Effect] = []
    package private(set) var nextDeadline = Int64.min

    package private(set) var streams: [StreamName: ServedStream] = [:]
    /// Streams whose publisher ended normally. They are no longer described, but slow receivers still request their samples.
    /// Limited to the maximum number of served streams.
    private var ended: [StreamName: ServedStream] = [:]
    /// The number of descriptions published for each stream.
    private var described: [StreamName: Int] = [:]
    /// The endpoint for replay requests, as other programs reach it.
    private var replay = ""
    /// The message number of each stream's description.
    private var descriptions: [StreamName: UInt64] = [:]
    private var readers = StreamDescriptionReaders()
    /// When a stream was last refused because there are too many, on the monotonic clock; nil if there is room.
    private var refusedAt: Int64?
    /// A stream name that two sites use, the sites, and when the other site's stream last arrived, on the monotonic clock.
    private var twice: (name: StreamName, served: String, other: String, at: Int64)?
    /// For each stream with several runs: its former runs, and how often in succession the stream returned to one of them.
    private var returns: [StreamName: (runs: [String], count: Int)] = [:]
    /// A stream that several publishers send under one site's name, the site, and when it last returned to a former run, on the
    /// monotonic clock.
    private var mixed: (name: StreamName, site: String, at: Int64)?
    private var problem: String?
    package private(set) var isConnected = false
    /// Whether the servers' streams are known. Until then, an unknown stream may still be stored.
    package private(set) var hasLearned = false
    /// Streams with stored samples but without a description yet.
    private var undescribed: Set<StreamName> = []
    /// How far the undescribed streams were published.
    private var marks: [StreamName: ServedStream.Mark] = [:]
    /// The last message of each stream that was published here, including ended streams.
    private var latest: [StreamName: ServedStream.Mark] = [:]
    /// When the NATS stream was created, in nanoseconds since 1970; nil before the servers reported it.
    private var made: Int64?
    /// The latest known time of the servers, in nanoseconds since 1970, and when it was learned, on this machine's clock that
    /// continues while it sleeps. This machine's date may be far from theirs.
    private var serversTime: (time: Int64, at: Int64)?
    /// Streams whose published end is unknown until samples arrive, with the description received meanwhile.
    private var awaited: [StreamName: Message?] = [:]

    // Measures
    package private(set) var samplesSent = 0
    package private(set) var messagesUnreadable = 0
    package internal(set) var samplesReplayed = 0
    /// The time from an event's publication at its site to its publication here.
    package private(set) var delays = LatencyHistogram()

    package init(_ settings: Settings, source: String, at now: Moment) {
        self.settings = settings
        self.source = source
    }

    package func begin(replayEndpoint: String) { replay = replayEndpoint }

    package func wake(at now: Moment) {
        nextDeadline = now.monotonic + Self.interval
        endWarnings(at: now)
        forgetEnded(at: now)
        watch()
        for name in streams.keys.sorted(by: { $0.description < $1.description }) { describe(name, at: now) }
    }

    // MARK: The servers' contents

    /// Notes the identity of the NATS stream from which later messages come. A recreated stream restarts its numbers and contains
    /// none of the previous stream's messages. Streams are still described as before, since their publishers may continue.
    /// - Parameter time: when the NATS stream was created, in nanoseconds since 1970.
    package func noteStream(madeAt time: Int64) {
        defer { self.made = time }
        guard let made, made != time else { return }
        for name in streams.keys { streams[name]?.beginAnew() }
        (ended, descriptions, latest, marks, awaited, undescribed) = ([:], [:], [:], [:], [:], [])
        (refusedAt, twice, mixed, returns) = (nil, nil, nil, [:])
        watch()
        emit(
            .log(
                .warning, "the stream in NATS was deleted and created again",
                ["servers": "\(settings.servers)"]))
    }

    /// Notes the time of the servers' clock, or when they stored a message: their clock is then at least as late.
    package func noteServers(time: Int64, at now: Moment) {
        if self.time(at: now).map({ time > $0 }) ?? true { serversTime = (time, now.elapsed) }
    }

    /// The servers' time, or an earlier one; nil before anything is known of it.
    private func time(at now: Moment) -> Int64? {
        serversTime.map { $0.time.addingClamped(now.elapsed - $0.at) }
    }

    /// Takes the servers' content for a stream when the program started, to describe streams that are still active.
    /// - Parameter place: everything up to this number was published here, by this run of the program or the previous one. A
    ///   description after it is published in its turn: published now, it would make recorders place the earlier runs that still
    ///   follow after the description's own run.
    package func know(_ description: Message, last: Message?, publishedUpTo place: UInt64, at now: Moment) {
        guard isOfKnownSite(description, at: now) else { return }
        guard description.sequence <= place else { return wait(for: description, last: last, publishedUpTo: place) }
        let heard = max(description.time, last?.time ?? 0)
        noteServers(time: heard, at: now)
        guard isRemembered(heard, at: now), let read = read(description) else { return }
        add(read, description, last: last.flatMap(mark), heard: heard, at: now)
        // A publisher that ended at this site may have begun at another one, which is then known next.
        if streams[read.name]?.description.over == true { describe(read.name, at: now) }
    }

    /// Notes a stream with stored samples but without a description yet. Until a description arrives, requests for the stream are
    /// answered with `busy` instead of `unknownStream`.
    package func knowUndescribed(_ name: StreamName) {
        if streams[name] == nil, undescribed.count < settings.maximumStreams { undescribed.insert(name) }
    }

    private func wait(for description: Message, last: Message?, publishedUpTo place: UInt64) {
        let name = description.content.name
        knowUndescribed(name)
        guard undescribed.contains(name), let last, let mark = mark(last) else { return }
        if last.sequence <= place { marks[name] = mark } else { awaited[name] = .some(nil) }
    }

    /// Notes that all streams of the servers were passed to `know`.
    package func finishKnowing() { hasLearned = true }

    /// Takes messages. Messages that were not acknowledged in time are redelivered after later ones. Their samples are published
    /// again, since receivers drop duplicates, except samples of an earlier run: recorders request the end of a run when the next
    /// one begins. A recorder that first met the stream after that would take them for a new run.
    package func take(_ messages: [Message], at now: Moment) {
        for message in messages {
            noteServers(time: message.time, at: now)
            guard isOfKnownSite(message, at: now) else { continue }
            if message.content.isDescription {
                takeDescription(message, at: now)
            } else {
                takeSamples(message, at: now)
            }
        }
    }

    private func takeDescription(_ message: Message, at now: Moment) {
        guard let description = read(message) else { return }
        let name = description.name
        guard message.sequence > descriptions[name] ?? 0 else { return }
        if descriptions.count < settings.maximumStreams { descriptions[name] = message.sequence }
        if awaited[name] != nil {
            awaited[name] = message
            return
        }
        let time = message.publishedAt
        if let known = streams[name] ?? ended[name], known.site == message.site,
            known.hasLeft(description, publishedAt: time)
        {
            return
        }
        if streams[name] != nil {
            streams[name]?.describe(description, publishedAt: time, heard: message.time, at: now.monotonic)
        } else {
            add(description, message, last: nil, heard: message.time, at: now)
        }
        describe(name, at: now)
    }

    private func takeSamples(_ message: Message, at now: Moment) {
        guard let mark = mark(message) else { return }
        let name = message.content.name
        if let latest = latest[name], mark.sequence < latest.sequence {
            guard mark.place.epoch == latest.place.epoch else { return }
        } else if latest[name] != nil || latest.count < 2 * settings.maximumStreams {
            if let last = latest[name]?.place.epoch { noteRun(of: message, mark.place.epoch, after: last, at: now) }
            latest[name] = mark
        }
        streams[name]?.note(mark, heard: message.time)
        knowUndescribed(name)
        if undescribed.contains(name) { marks[name] = mark }
        samplesSent = samplesSent.addingClamped(mark.place.count)
        for event in message.content.events {
            if let age = event.age(at: now.date) { delays.record(nanoseconds: age) }
            emit(.send(event))
        }
        if let description = awaited.removeValue(forKey: name), let description {
            descriptions[name] = nil
            takeDescription(description, at: now)
        }
    }

    /// Notes which run a message belongs to. A publisher never returns to a run; several publishers of one name alternate.
    private func noteRun(of message: Message, _ epoch: String, after last: String, at now: Moment) {
        guard epoch != last else { return }
        let name = message.content.name
        var (runs, count) = returns[name] ?? ([], 0)
        count = runs.contains(epoch) ? count + 1 : 0
        runs = (runs.filter { $0 != epoch && $0 != last } + [last]).suffix(Self.rememberedRuns)
        returns[name] = (runs, count)
        if count >= Self.maximumReturns, mixed == nil || mixed?.name == name {
            mixed = (name, message.site, now.monotonic)
        }
    }

    /// Counts a message that does not belong to a stream.
    package func noteUnreadable() { messagesUnreadable += 1 }

    private func mark(_ message: Message) -> ServedStream.Mark? {
        message.content.place.map { ServedStream.Mark(sequence: message.sequence, place: $0) }
    }

    private func read(_ message: Message) -> StreamDescription? {
        do {
            let description = try readers.read(message.content.events[0])
            guard description.name == message.content.name else {
                throw MessageError(.malformed, "a description is of another stream than its subject")
            }
            return description
        } catch {
            messagesUnreadable += 1
            emit(.malformed(error))
            return nil
        }
    }

    /// Streams with the same name cannot be distinguished on the bus, so only the first one is served.
    private func isOfKnownSite(_ message: Message, at now: Moment) -> Bool {
        guard let site = streams[message.content.name]?.site, site != message.site else { return true }
        twice = (message.content.name, site, message.site, now.monotonic)
        return false
    }

    private func add(
        _ description: StreamDescription, _ message: Message, last: ServedStream.Mark?, heard: Int64, at now: Moment
    ) {
        guard streams.count < settings.maximumStreams else {
            refusedAt = now.monotonic
            return
        }
        undescribed.remove(description.name)
        let mark = marks.removeValue(forKey: description.name)
        let time = message.publishedAt
        if var stream = ended.removeValue(forKey: description.name), stream.site == message.site {
            stream.resume(description, publishedAt: time, last: last ?? mark, heard: heard, at: now.monotonic)
            streams[description.name] = stream
        } else {
            streams[description.name] = ServedStream(
                description, publishedAt: time, of: message.site, last: last ?? mark, heard: heard, at: now.monotonic)
        }
    }

    // MARK: Descriptions

    private func describe(_ name: StreamName, at now: Moment) {
        guard let stream = streams[name] else { return }
        guard isRemembered(stream.heard, at: now) else { return forget(name) }
        let sequence = described[name] ?? 0
        described[name] = sequence + 1
        emit(.describe(description(of: stream, sequence: sequence, at: now)))
        // The publisher ended normally, and everything of the stream is here.
        if stream.description.over == true, stream.description.nextSequence <= stream.published?.end ?? 0 {
            streams[name] = nil
            described[name] = nil
            keepEnded(stream)
        }
    }

    /// Whether the last message of a stream is recent by either clock: one of the servers' may be wrong, or this machine's.
    /// - Parameter heard: when the servers stored that message.
    private func isRemembered(_ heard: Int64, at now: Moment) -> Bool {
        min(time(at: now) ?? .max, now.date.nanosecondsSince1970).subtractingClamped(heard) < Self.memory
    }

    private func forget(_ name: StreamName) {
        (streams[name], ended[name], latest[name], described[name], returns[name]) = (nil, nil, nil, nil, nil)
        undescribed.remove(name)
    }

    /// Keeps an ended stream for slow receivers. If there are too many, it replaces the stream from which nothing arrived for the
    /// longest time.
    private func keepEnded(_ stream: ServedStream) {
        if ended.count >= settings.maximumStreams, let oldest = ended.min(by: { $0.value.heard < $1.value.heard })?.key
        {
            forget(oldest)
        }
        ended[stream.description.name] = stream
    }

    private func forgetEnded(at now: Moment) {
        for (name, stream) in ended where !isRemembered(stream.heard, at: now) { forget(name) }
    }

    private func description(of stream: ServedStream, sequence: Int, at now: Moment) -> StreamDescription {
        var description = stream.description(replay: replay, sequence: sequence, at: now.monotonic)
        description.source = source
        return description
    }

    package func list(_ question: StreamsList, at now: Moment) -> StreamsList.Reply {
        let wanted = Set(question.streams ?? [StreamName.everything])
        let listed = streams.filter { $0.key.matches(anyOf: wanted) }.sorted { $0.key.description < $1.key.description }
        return StreamsList.Reply(
            streams: listed.map { description(of: $0.value, sequence: described[$0.key] ?? 0, at: now) })
    }

    // MARK: Replays

    /// Plans where to search for the requested samples.
    package func plan(_ range: SamplesReplay.Range) throws(RequestError) -> ReplayPlan {
        let name = StreamName(device: range.device, stream: range.stream)
        guard range.from >= 0, range.count > 0 else {
            throw RequestError(
                .invalidParameter,
                "from \(range.from) and count \(range.count) name no samples: give from 0 or more, count 1 or more")
        }
        guard let stream = streams[name] ?? ended[name] else {
            guard hasLearned, !undescribed.contains(name) else {
                throw .laterAgain("it is not known yet which samples of \(name) the servers have")
            }
            throw RequestError(.unknownStream, "nothing of a stream \(name) arrived within the last hour")
        }
        return ReplayPlan(
            subject: RelaySubject(site: stream.site, name: name).samples, range: range,
            place: stream.range(of: range.epoch, range.from), knownEnd: stream.end(of: range.epoch) ?? range.from,
            knownLast: stream.last?.sequence ?? 0)
    }

    package func noteReplayed(_ samples: Int) { samplesReplayed = samplesReplayed.addingClamped(samples) }

    // MARK: Health

    /// - Parameter problem: nil if messages arrive.
    package func noteServers(isConnected: Bool, problem: String?) {
        let isNews = isConnected != self.isConnected
        (self.isConnected, self.problem) = (isConnected, problem)
        watch()
        if isNews, isConnected { emit(.log(.notice, "streams are fetched", ["servers": "\(settings.servers)"])) }
    }

    /// Ends warnings whose cause is gone: the stream is no longer described, or the cause has not recurred for `memory`.
    private func endWarnings(at now: Moment) {
        if let twice, streams[twice.name]?.site != twice.served || now.monotonic - twice.at >= Self.memory {
            self.twice = nil
        }
        if let mixed, streams[mixed.name]?.site != mixed.site || now.monotonic - mixed.at >= Self.memory {
            self.mixed = nil
        }
        if let refusedAt, streams.count < settings.maximumStreams || now.monotonic - refusedAt >= Self.memory {
            self.refusedAt = nil
        }
    }

    private func watch() {
        let reason = problem.map { " (\($0))" } ?? ""
        emit(
            .warn(
                !isConnected || problem != nil
                    ? "nothing arrives from the NATS servers \(settings.servers)\(reason): samples published at the sites follow "
                        + "when they are reachable" : nil, for: "servers"))
        emit(
            .warn(
                twice.map {
                    "the sites \($0.served) and \($0.other) both have a stream \($0.name): only that of \($0.served) is served; give "
                        + "devices different names, or run a relay for each site with --site"
                }, for: "twice"))
        emit(
            .warn(
                mixed.map {
                    "several publishers send a stream \($0.name) under the site name \($0.site), and their samples are mixed: give each "
                        + "site a different --site, and devices of a site different names"
                }, for: "mixed"))
        emit(
            .warn(
                refusedAt != nil
                    ? "\(settings.maximumStreams) streams are served, and no more are accepted: raise --maximum-streams"
                    : nil,
                for: "streams"))
    }
}

extension RequestError {
    /// An error that requests a retry, so that a recorder does not give up samples.
    package static func laterAgain(_ reason: String) -> RequestError {
        let pause = 0.5
        return RequestError(.busy, "\(reason): ask again in \(pause) s", retryAfter: pause)
    }
}

/// Where to search in NATS for the samples of a request.
package struct ReplayPlan: Hashable, Sendable {
    package let subject: String
    package let range: SamplesReplay.Range
    /// The message numbers to search; nil if nothing of the publisher's run arrived here. The servers may have it from before
    /// this program started.
    package let place: ClosedRange<UInt64>?
    /// Samples before this one are stored for certain: a replica without them is behind.
    package let knownEnd: Int
    /// The stream's last message that arrived here: a server without it is behind.
    package let knownLast: UInt64
}

struct StreamDescriptionReaders {
    private var readers: [StreamName: StreamDescriptionReader] = [:]

    mutating func read(_ event: RelayedEvent) throws -> StreamDescription {
        let reader = readers[event.name] ?? StreamDescriptionReader()
        if readers.count < 16_384 { readers[event.name] = reader }
        return try event.body.withUnsafeBytes { try reader.read($0) }
    }
}
