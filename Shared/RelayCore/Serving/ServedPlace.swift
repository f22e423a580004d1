/// How far a serving relay has published a NATS stream here, derived from its own progress and the state of its consumer.
///
/// A consumer delivers messages stored after its creation and reports all earlier ones as acknowledged. If it was deleted and
/// recreated, alone or with its stream, it skips the messages stored in between. Its state therefore counts only while it is the
/// same consumer; messages in `missing` must be fetched by number.
package struct ServedPlace: Sendable {
    /// A consumer, as the servers describe it.
    package struct Consumer: Hashable, Sendable {
        /// When the stream was created, in nanoseconds since 1970.
        package var streamMade: Int64
        /// When the consumer was created, in nanoseconds since 1970.
        package var made: Int64
        /// Everything up to this number is acknowledged, by any relay that shares the consumer.
        package var acknowledged: UInt64
        /// The last delivered number.
        package var given: UInt64

        package init(streamMade: Int64, made: Int64, acknowledged: UInt64, given: UInt64) {
            self.streamMade = streamMade
            self.made = made
            self.acknowledged = acknowledged
            self.given = given
        }
    }

    private var consumer: Consumer?
    /// The number up to which a recreated consumer reports messages as acknowledged without proof.
    private var unproven: UInt64 = 0
    /// Everything up to this number was published here.
    package private(set) var published: UInt64 = 0

    package init() {}

    /// Takes the consumer's current state. The first state shows where the previous run of the program ended.
    package mutating func note(_ current: Consumer) {
        defer { self.consumer = current }
        guard let consumer else { return published = current.acknowledged }
        if consumer.streamMade != current.streamMade { published = 0 }
        if consumer.streamMade != current.streamMade || consumer.made != current.made {
            unproven = current.acknowledged
        } else if current.acknowledged > unproven {
            // Another relay that shares the consumer published these messages before it acknowledged them.
            published = max(published, current.acknowledged)
        }
    }

    /// Notes that all messages up to a number were published or do not exist.
    package mutating func notePublished(upTo number: UInt64) { published = max(published, number) }

    /// Numbers that were delivered or skipped, but not published here; nil if there are none.
    package var missing: ClosedRange<UInt64>? {
        guard let given = consumer?.given, published < given else { return nil }
        return published + 1...given
    }
}
