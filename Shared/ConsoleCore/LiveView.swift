import Logging
package import MessageBus
package import Messages
package import ServiceKit
package import WebServer

/// What viewers of the console see live: which streams each wants, what of them is missing, and when what is sent.
///
/// It receives events with their time and returns effects. Samples that arrive within a twentieth of a second are sent together,
/// encoded once for all viewers. Confined to one thread.
package final class LiveView: RecoveringCore {
    /// Work that the caller carries out.
    package enum Effect: CoreEffect {
        case notice(Notice)
        /// Listen to samples of a topic, or no longer.
        case subscribe(String)
        case unsubscribe(String)
        /// Have the missing samples of a stream replayed: `missing`, `take` and `giveUp` have more.
        case recover(StreamName)
        /// Ask the programs how they are, and hand the answer to `take(state:)`.
        case lookAtState
        /// Send to these viewers.
        case send(ViewerQueue.Chunk, to: [Int])
    }

    /// Viewers who want the same.
    private struct Audience {
        /// nil for all streams.
        var streams: Set<StreamName>?
        var viewers: [Int]

        func wants(_ name: StreamName) -> Bool { streams?.contains(name) ?? true }
    }

    /// Clients of Foxglove at the same time.
    package static let maximumClients = 16
    /// Viewers at the same time.
    package static let maximumViewers = 64
    /// Streams that a viewer may name.
    package static let maximumNames = 1_000
    /// Streams that are known: a stranger could publish under ever new names.
    private static let maximumStreams = 10_000
    /// What arrives within this time is sent together, in nanoseconds.
    package static let flushInterval: Int64 = 50_000_000
    /// Samples of a stream that are sent at once, in bytes, although that time is not over.
    private static let flushBytes = 256 << 10
    private static let stateInterval: Int64 = 1_000_000_000

    package var effects: [Effect] = []
    private let topics = TopicTable<LiveStream>()
    private var descriptions = StreamDescriptions()
    private var streams: [StreamName: LiveStream] = [:]
    /// Streams of which there is something to send.
    private var news: [StreamName: LiveStream] = [:]
    /// Bus events that wait to be sent.
    private var busEvents: [UInt8] = []
    private var audiences: [Audience] = []
    private var foxglove = FoxgloveHub()
    private var lastViewer = 0
    private var lastFlush = Int64.min

    // What is asked each second.
    private var state: [UInt8]?
    private var stateAt = Int64.min
    private var isLooking = false

    private let startedAt: Int64
    private var sessions = RunningSessions(life: 5_000_000_000)
    /// The sessions that clients of Foxglove were last told of.
    private var toldSessions: [String] = []

    package init(at now: Moment) { startedAt = now.monotonic }

    package var nextDeadline: Int64 {
        let flush = hasNews ? lastFlush.addingClamped(Self.flushInterval) : .max
        // A session of which nothing more is heard ends for those who are told of it.
        let silence = toldSessions.isEmpty ? nil : sessions.nextSilence
        let look = isLooking || audiences.isEmpty ? .max : stateAt.addingClamped(Self.stateInterval)
        return min(flush, silence ?? .max, look)
    }

    package func wake(at now: Moment) {
        if hasNews, now.monotonic >= lastFlush.addingClamped(Self.flushInterval) { flush(at: now) }
        tellSessions(at: now)
        look(at: now)
    }

    private var hasNews: Bool { !news.isEmpty || !busEvents.isEmpty }

    // MARK: Measures

    /// How many look.
    package var viewerCount: Int { audiences.reduce(0) { $0 + $1.viewers.count } }
    /// Samples that were received for viewers.
    package var samplesSeen: Int { streams.values.reduce(0) { $0 + $1.samplesSeen } }
    /// Samples that viewers did not get because their publisher does not have them any more.
    package var samplesLost: Int { streams.values.reduce(0) { $0 + $1.samplesLost } }

    // MARK: Viewers

    /// Adds a viewer.
    /// - Parameter wanted: the streams; nil for all, now and later.
    /// - Returns: its number; nil if there are as many as may be.
    package func join(_ wanted: Set<StreamName>?, at now: Moment) -> Int? {
        guard viewerCount < Self.maximumViewers else { return nil }
        lastViewer += 1
        if let index = audiences.firstIndex(where: { $0.streams == wanted }) {
            audiences[index].viewers.append(lastViewer)
        } else {
            audiences.append(Audience(streams: wanted, viewers: [lastViewer]))
            for stream in streams.values where audiences[audiences.count - 1].wants(stream.name) { want(stream) }
        }
        if let state { emit(.send(Self.chunk(ofState: state), to: [lastViewer])) }
        look(at: now)
        return lastViewer
    }

    /// Removes viewers who have gone.
    package func leave(_ viewers: Set<Int>) {
        foxglove.leave(viewers)
        follow()
        for index in audiences.indices { audiences[index].viewers.removeAll(where: viewers.contains) }
        let gone = audiences.filter(\.viewers.isEmpty)
        audiences.removeAll(where: \.viewers.isEmpty)
        for audience in gone {
            for stream in streams.values where audience.wants(stream.name) { unwant(stream) }
        }
        if audiences.isEmpty {
            busEvents = []
            state = nil
        }
    }

    // MARK: Foxglove

    /// How many clients of Foxglove there are.
    package var clientCount: Int { foxglove.count }

    /// Adds a Foxglove client, which receives the list of all streams.
    /// - Returns: its number, among those of viewers; nil if there are as many as may be.
    package func joinFoxglove(as role: Role) -> Int? {
        guard foxglove.count < Self.maximumClients else { return nil }
        lastViewer += 1
        let greeting = foxglove.join(lastViewer, as: role, session: "\(startedAt)-\(lastViewer)")
        emit(.send(ViewerQueue.Chunk(greeting, isGreeting: true), to: [lastViewer]))
        return lastViewer
    }

    /// Takes what a client of Foxglove said.
    /// - Returns: what it asks programs for; each is to be handed to `answer`.
    package func take(
        _ message: WebSocketReader.Message, ofFoxglove client: Int, at now: Moment
    ) -> [FoxgloveRequest] {
        defer { follow() }
        return foxglove.take(message, of: client).compactMap { outcome in
            switch outcome {
            case .tell(let frame): emit(.send(ViewerQueue.Chunk(frame), to: [client]))
            case .tellParameters(let names, let id): tellParameters(names, id: id, to: [client], at: now)
            case .ask(let request): return request
            }
            return nil
        }
    }

    /// Tells a client of Foxglove what a program answered.
    /// - Parameter reply: JSON.
    package func answer(
        _ request: FoxgloveRequest, _ reply: Result<[UInt8], RequestError>, to client: Int, at now: Moment
    ) {
        switch (request.answer, reply) {
        case (.service(let service, let call), .success(let json)):
            emit(.send(ViewerQueue.Chunk(FoxgloveText.response(service: service, call: call, json)), to: [client]))
        case (.service(let service, let call), .failure(let error)):
            let frame = FoxgloveText.failure(service: service, call: call, error.message)
            emit(.send(ViewerQueue.Chunk(frame), to: [client]))
        case (.parameters(let id), .success):
            if id != nil { tellParameters([], id: id, to: [client], at: now) }
        case (.parameters, .failure(let error)):
            emit(.send(ViewerQueue.Chunk(FoxgloveText.error(error.message)), to: [client]))
        }
    }

    private func tellParameters(_ names: [String], id: String?, to clients: [Int], at now: Moment) {
        guard !clients.isEmpty else { return }
        let parameters = FoxgloveHub.parameters(names, running: runningSessions(at: now) ?? [])
        emit(.send(ViewerQueue.Chunk(FoxgloveText.parameterValues(parameters, id: id)), to: clients))
    }

    /// Listens to the streams that clients of Foxglove subscribed to.
    private func follow() {
        for stream in streams.values where stream.isSubscribed != (foxglove.subscribers[stream.name] != nil) {
            stream.isSubscribed.toggle()
            if stream.isSubscribed { want(stream) } else { unwant(stream) }
        }
    }

    private func want(_ stream: LiveStream) {
        stream.audiences += 1
        if stream.audiences == 1 { emit(.subscribe(TopicArea.samples + stream.name.description)) }
    }

    private func unwant(_ stream: LiveStream) {
        stream.audiences -= 1
        guard stream.audiences == 0 else { return }
        stream.leave()
        news[stream.name] = nil
        emit(.unsubscribe(TopicArea.samples + stream.name.description))
    }

    // MARK: What arrives

    /// Takes an event of any program.
    /// - Returns: the description that it was, if it was one.
    /// - Throws: `MessageError` or `DecodingError` for one that can't be read.
    package func take(_ frames: EventFrames, at now: Moment) throws -> StreamDescription? {
        if let stream = topics.value(of: frames.topic) {
            guard stream.audiences > 0 else { return nil }
            defer { note(stream, at: now) }
            if try stream.take(frames, at: now) { recover(stream) }
        } else if frames.isIn(TopicArea.stream) {
            let description = try descriptions.read(frames)
            take(description, at: now)
            return description
        } else if !frames.isIn(TopicArea.samples) {
            try takeBusEvent(frames, at: now)
        }
        return nil
    }

    private func take(_ description: StreamDescription, at now: Moment) {
        let name = description.name
        guard StreamName(name.description) == name else { return }
        if streams[name] != nil || streams.count < Self.maximumStreams, let told = foxglove.describe(description) {
            if !told.clients.isEmpty { emit(.send(ViewerQueue.Chunk(told.frames), to: told.clients)) }
            follow()
        }
        if let stream = streams[name] {
            guard stream.describe(description, at: now) else { return }
            note(stream, at: now)
            return recover(stream)
        }
        guard streams.count < Self.maximumStreams else { return }
        let stream = LiveStream(description, at: now)
        streams[name] = stream
        Array((TopicArea.samples + name.description).utf8).withUnsafeBytes { topics.add($0, stream) }
        for audience in audiences where audience.wants(name) { want(stream) }
    }

    private func takeBusEvent(_ frames: EventFrames, at now: Moment) throws {
        guard JSONScanner.isValid(frames.body) else {
            throw MessageError(.malformed, "an event of \(String(decoding: frames.topic, as: UTF8.self)) is not JSON")
        }
        let schema: String
        if frames.isIn(TopicArea.recording) {
            let event = try frames.decode(RecordingEvent.self)
            schema = RecordingEvent.schema
            note(event, at: now)
            // Nothing new; the state has it.
            if event.change == .current { return }
        } else {
            schema = try WireCoding.decode(NamedSchema.self, from: frames.body).schema
        }
        guard !audiences.isEmpty, busEvents.count < Self.flushBytes else { return }
        busEvents += EventText.bus(schema: schema, frames.body)
    }

    private struct NamedSchema: Decodable {
        var schema: String
    }

    /// Notes that there is something to send of a stream.
    private func note(_ stream: LiveStream, at now: Moment) {
        guard stream.hasNews else { return }
        news[stream.name] = stream
        if stream.byteCount > Self.flushBytes { flush(at: now) }
    }

    // MARK: Sessions

    private func note(_ event: RecordingEvent, at now: Moment) {
        _ = sessions.note(event, at: now.monotonic)
        tellSessions(at: now)
    }

    /// Tells clients of Foxglove which sessions run, if these are others than before.
    private func tellSessions(at now: Moment) {
        let running = runningSessions(at: now) ?? []
        guard running != toldSessions else { return }
        toldSessions = running
        tellParameters([], id: nil, to: foxglove.parameterListeners, at: now)
    }

    /// The sessions that run, as far as the recorder says so; nil if it had no time yet to say it.
    package func runningSessions(at now: Moment) -> [String]? {
        let running = sessions.names(at: now.monotonic)
        return running.isEmpty && now.monotonic - startedAt < sessions.life ? nil : running
    }

    // MARK: What is missing

    private func recover(_ stream: LiveStream) {
        guard !stream.isRecovering, stream.missing() != nil else { return }
        stream.isRecovering = true
        emit(.recover(stream.name))
    }

    /// What a stream's publisher is to replay next; nil if nothing is missing, which ends the recovery.
    package func missing(_ name: StreamName, at now: Moment) -> MissingSamples? {
        guard let stream = streams[name] else { return nil }
        let missing = stream.missing()
        stream.isRecovering = missing != nil
        return missing
    }

    /// What a stream's publisher said of it last; nil for a stream that nobody has.
    package func description(of name: StreamName) -> StreamDescription? { streams[name]?.description }

    /// Whether a stream's publisher is running and reachable.
    package func isHeard(_ name: StreamName, at now: Moment) -> Bool {
        streams[name].map { now.monotonic - $0.heard < StreamDescription.life } ?? false
    }

    /// Takes the answer to a request for missing samples.
    package func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        guard let stream = streams[StreamName(device: request.device, stream: request.stream)] else { return }
        if let fault = stream.take(frames, for: request, at: now) { emit(.malformed(fault)) }
        note(stream, at: now)
    }

    /// Gives up what a request asked for.
    package func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment) {
        guard let stream = streams[StreamName(device: request.device, stream: request.stream)] else { return }
        stream.giveUp(request)
        note(stream, at: now)
    }

    // MARK: What is sent

    private func flush(at now: Moment) {
        lastFlush = now.monotonic
        let everyone = audiences.flatMap(\.viewers)
        if !busEvents.isEmpty {
            emit(.send(ViewerQueue.Chunk(busEvents), to: everyone))
            busEvents = []
        }
        for (name, stream) in news {
            guard let messages = stream.takeMessages() else { continue }
            for part in foxglove.frames(of: name, messages) where !part.frames.isEmpty {
                emit(.send(ViewerQueue.Chunk(part.frames, samples: part.samples), to: [part.client]))
            }
        }
        let all = news.sorted { $0.key.description < $1.key.description }.map { ($0.key, $0.value.takeNews()) }
        news = [:]
        for audience in audiences {
            var (gaps, samples, count): ([UInt8], [UInt8], Int) = ([], [], 0)
            for (name, parts) in all where audience.wants(name) {
                gaps += parts.gaps
                samples += parts.samples
                count += parts.count
            }
            if !gaps.isEmpty { emit(.send(ViewerQueue.Chunk(gaps), to: audience.viewers)) }
            if !samples.isEmpty { emit(.send(ViewerQueue.Chunk(samples, samples: count), to: audience.viewers)) }
        }
    }

    // MARK: State

    private func look(at now: Moment) {
        guard !audiences.isEmpty, !isLooking, now.monotonic >= stateAt.addingClamped(Self.stateInterval) else { return }
        isLooking = true
        stateAt = now.monotonic
        emit(.lookAtState)
    }

    /// Takes the body of `/api/state`; nil if there is none.
    package func take(state new: [UInt8]?) {
        isLooking = false
        guard !audiences.isEmpty, let new, new != state else { return }
        state = new
        emit(.send(Self.chunk(ofState: new), to: audiences.flatMap(\.viewers)))
    }

    private static func chunk(ofState state: [UInt8]) -> ViewerQueue.Chunk {
        ViewerQueue.Chunk(EventText.state(state), isState: true)
    }
}
