import MessageBus
package import Messages
package import Recording

/// An event of the bus on its way through NATS: a batch of samples, or a description of a stream, with its frames as they arrived.
package struct RelayedEvent: Hashable, Sendable {
    package let name: StreamName
    /// nil for a description.
    package let place: BatchPlace?
    package let body: [UInt8]
    package let packed: [UInt8]?
    package let time: [UInt8]

    package init(name: StreamName, place: BatchPlace?, body: [UInt8], packed: [UInt8]?, time: [UInt8]) {
        self.name = name
        self.place = place
        self.body = body
        self.packed = packed
        self.time = time
    }

    package var isDescription: Bool { place == nil }

    /// Where it is published on the bus.
    package var topic: String { (isDescription ? TopicArea.stream : TopicArea.samples) + name.description }

    /// About how much memory it takes, in bytes.
    package var byteCount: Int { 200 + body.count + (packed?.count ?? 0) }

    /// When it was published; nil if it does not say so.
    package var publishedAt: WallTime? { time.withUnsafeBytes { EventTime.time(in: $0) } }

    /// How long ago it was published, in nanoseconds; nil if it does not say when.
    func age(at date: WallTime) -> Int64? { publishedAt.map { date.distance(from: $0) } }

    // MARK: In the spool

    /// Reads an event of the spool; nil if it is none of a stream.
    package init?(_ logged: LoggedEvent) {
        let topic = String(decoding: logged.topic, as: UTF8.self)
        let isSamples = topic.hasPrefix(TopicArea.samples)
        let area = isSamples ? TopicArea.samples : TopicArea.stream
        guard topic.hasPrefix(area), let name = StreamName(String(topic.dropFirst(area.count))) else { return nil }
        var place: BatchPlace?
        if isSamples {
            guard let body = try? SampleBody(logged.body) else { return nil }
            place = BatchPlace(of: body, in: logged.body)
        }
        self.init(
            name: name, place: place, body: Array(logged.body), packed: logged.packed.map { Array($0) },
            time: Array(logged.time))
    }
}
