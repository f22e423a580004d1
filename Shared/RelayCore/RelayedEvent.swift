import MessageBus
package import Messages
package import Recording

/// A bus event on its way through NATS: a batch of samples or a description of a stream. Its frames are unchanged unless a batch
/// was cut.
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

    /// The topic on which the event is published on the bus.
    package var topic: String { (isDescription ? TopicArea.stream : TopicArea.samples) + name.description }

    /// The approximate memory use, in bytes.
    package var byteCount: Int { 200 + body.count + (packed?.count ?? 0) }

    /// When the event was published; nil if its time is missing.
    package var publishedAt: WallTime? { time.withUnsafeBytes { EventTime.time(in: $0) } }

    /// How long ago the event was published, in nanoseconds; nil if its time is missing.
    func age(at date: WallTime) -> Int64? { publishedAt.map { date.distance(from: $0) } }

    // MARK: In the spool

    /// Reads an event of the spool; nil if it does not belong to a stream.
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
