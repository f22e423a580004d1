import Logging
package import MessageBus
package import Messages
package import ServiceKit
package import WebServer

/// The live part of the console: which streams each viewer wants, which samples are missing, and when to send.
///
/// It receives events with their time and returns effects. Samples that arrive within a twentieth of a second are sent together,
/// encoded once for all viewers. Confined to one thread.
package final class LiveView: RecoveringCore {
    /// Work that the caller carries out.
    package enum Effect: CoreEffect {
        case notice(Notice)
        /// Subscribe to a topic's samples, or unsubscribe.
        case subscribe(String)
        case unsubscribe(String)
        /// Start a replay of a stream's missing samples, with `missing`, `take` and `giveUp`.
        case recover(StreamName)
        /// Request the state of the programs, and pass the reply to `take(state:)`.
        case lookAtState
        case send(ViewerQueue.Chunk, to: [Int])
    }

    /// Viewers who want the same streams.
    private struct Audience {
        /// Nil for all streams.
        var streams: Set<StreamName>?
        var viewers: [Int]

        func wants(_ name: StreamName) -> Bool { streams?.contains(name) ?? true }
    }

    /// Limit of simultaneous Foxglove clients.
    package static let maximumClients = 16
    /// Limit of simultaneous viewers.
    package static let maximumViewers = 64
    /// Limit of streams that a viewer may name.
    package static let maximumNames = 1_000
    /// Limit of known streams: anybody could publish under ever new names.
    private static let maximumStreams = 10_000
    /// Events that arrive within this time, in nanoseconds, are sent together.
    package static let flushInterval: Int64 = 50_000_000
    /// Samples of a stream are sent before that time if they exceed this many bytes.
    private static let flushBytes = 256 << 10
    private static let stateInterval: Int64 = 1_000_000_000

    package var effects: [Effect] = []
    private let topics = TopicTable<LiveStream>()
    private var descriptions = StreamDescriptions()
    private var streams: [StreamName: LiveStream] = [:]
    /// Streams with something to send.
    private var news: [StreamName: LiveStream] = [:]
    /// Events of other kinds that wait to be sent.
    private var busEvents: [UInt8] = []
    private var audiences: [Audience] = []
    private var foxglove = FoxgloveHub()
    private var lastViewer = 0
    private var lastFlush = Int64.min

    // The programs' state, requested each second.
    private var state: [UInt8]?
    private var stateAt = Int64.min
    private var isLooking = false

    private let startedAt: Int64
    private var sessions = RunningSessions(life: 5_000_000_000)
    /// The sessions last reported to Foxglove clients.
    private var toldSessions: [String] = []

    package init(at now: Moment) { startedAt = now.monotonic }

    package var nextDeadline: Int64 {
        let flush = hasNews ? lastFlush.addingClamped(Self.flushInterval) : .max
        // Foxglove clients are notified that a session ended if nothing more is heard of it.
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

    package var viewerCount: Int { audiences.reduce(0) { $0 + $1.viewers.count } }
    /// Samples received for viewers.
    package var samplesSeen: Int { streams.values.reduce(0) { $0 + $1.samplesSeen } }
    /// Samples that viewers did not get because the publisher no longer has them.
    package var samplesLost: Int { streams.values.reduce(0) { $0 + $1.samplesLost } }

    // MARK: Viewers

    /// Adds a viewer.
    /// - Parameter wanted: the streams; nil for all, including later ones.
    /// - Returns: the viewer's number; nil if the limit is reached.
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

    /// Removes viewers that have left.
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

    package var clientCount: Int { foxglove.count }

    /// Adds a Foxglove client, which receives the list of all streams.
    /// - Returns: its number, unique among viewers; nil if the limit is reached.
    package func joinFoxglove(as role: Role) -> Int? {
        guard foxglove.count < Self.maximumClients else { return nil }
        lastViewer += 1
        let greeting = foxglove.join(lastViewer, as: role, session: "\(startedAt)-\(lastViewer)")
        emit(.send(ViewerQueue.Chunk(greeting, isGreeting: true), to: [lastViewer]))
        return lastViewer
    }

    /// Takes a message from a Foxglove client.
    /// - Returns: requests for programs; pass each with its reply to `answer`.
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

    /// Sends a program's reply to a Foxglove client.
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

    /// Subscribes to the streams that Foxglove clients want, and unsubscribes from others.
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

    // MARK: Arriving messages

    /// Takes an event from a program.
    /// - Returns: the event's stream description, if it is one.
    /// - Throws: `MessageError` or `DecodingError` if the event can't be read.
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
            // Nothing new: the state already includes it.
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

    /// Notes that a stream has something to send.
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

    /// Reports the running sessions to Foxglove clients, if they have changed.
    private func tellSessions(at now: Moment) {
        let running = runningSessions(at: now) ?? []
        guard running != toldSessions else { return }
        toldSessions = running
        tellParameters([], id: nil, to: foxglove.parameterListeners, at: now)
    }

    /// The running sessions, according to the recorder; nil if it has not had time yet to report them.
    package func runningSessions(at now: Moment) -> [String]? {
        let running = sessions.names(at: now.monotonic)
        return running.isEmpty && now.monotonic - startedAt < sessions.life ? nil : running
    }

    // MARK: Missing samples

    private func recover(_ stream: LiveStream) {
        guard !stream.isRecovering, stream.missing() != nil else { return }
        stream.isRecovering = true
        emit(.recover(stream.name))
    }

    /// The next samples to request from a stream's publisher; nil if none are missing, which ends the recovery.
    package func missing(_ name: StreamName, at now: Moment) -> MissingSamples? {
        guard let stream = streams[name] else { return nil }
        let missing = stream.missing()
        stream.isRecovering = missing != nil
        return missing
    }

    /// The latest description from a stream's publisher; nil if the stream is unknown.
    package func description(of name: StreamName) -> StreamDescription? { streams[name]?.description }

    package func heardSince(_ name: StreamName, at now: Moment) -> Int64? {
        streams[name]?.heard.since(at: now.monotonic)
    }

    /// The descriptions of streams that are not listed and whose publishers are running and reachable.
    package func heardStreams(besides listed: [StreamDescription], at now: Moment) -> [StreamDescription] {
        let names = Set(listed.map(\.name))
        return streams.values.filter { now.monotonic - $0.heard.last < StreamDescription.life }.map(\.description)
            .filter { $0.over != true && !names.contains($0.name) }
            .sorted { $0.name.description < $1.name.description }
    }

    /// Takes the reply to a replay request.
    package func take(_ frames: ArraySlice<[UInt8]>, count: Int, for request: SamplesReplay, at now: Moment) {
        guard let stream = streams[StreamName(device: request.device, stream: request.stream)] else { return }
        if let fault = stream.take(frames, for: request, at: now) { emit(.malformed(fault)) }
        note(stream, at: now)
    }

    /// Gives up the samples of a replay request.
    package func giveUp(_ request: SamplesReplay, reason: Gap.Reason, at now: Moment) {
        guard let stream = streams[StreamName(device: request.device, stream: request.stream)] else { return }
        stream.giveUp(request)
        note(stream, at: now)
    }

    // MARK: Sent messages

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

    /// Takes the new body of `/api/state`; nil if there is none.
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
