/// Up to where a relay that serves published a stream of NATS here, beside what the servers say of the consumer that gives it out.
///
/// A consumer gives out what is stored after it was made, and says that all before is acknowledged. If it was deleted and made anew,
/// alone or with its stream, it leaves out what was stored in between. So what it says counts only of the consumer that was there, and
/// what is `missing` is to be got by its numbers.
package struct ServedPlace: Sendable {
    /// A consumer, as the servers describe it.
    package struct Consumer: Hashable, Sendable {
        /// When its stream was made, in nanoseconds since 1970.
        package var streamMade: Int64
        /// When it was made itself, in nanoseconds since 1970.
        package var made: Int64
        /// Up to this number everything is acknowledged, by whichever relay shares the consumer.
        package var acknowledged: UInt64
        /// The last number that was given out.
        package var given: UInt64

        package init(streamMade: Int64, made: Int64, acknowledged: UInt64, given: UInt64) {
            self.streamMade = streamMade
            self.made = made
            self.acknowledged = acknowledged
            self.given = given
        }
    }

    private var consumer: Consumer?
    /// What a consumer that was made anew calls acknowledged, and is not.
    private var unproven: UInt64 = 0
    /// Up to this number everything was published here.
    package private(set) var published: UInt64 = 0

    package init() {}

    /// Takes how the servers have the consumer now. The first time, what they say is where the program before this one left off.
    package mutating func note(_ current: Consumer) {
        defer { self.consumer = current }
        guard let consumer else { return published = current.acknowledged }
        if consumer.streamMade != current.streamMade { published = 0 }
        if consumer.streamMade != current.streamMade || consumer.made != current.made {
            unproven = current.acknowledged
        } else if current.acknowledged > unproven {
            // What another relay acknowledged, which shares the consumer, it published.
            published = max(published, current.acknowledged)
        }
    }

    /// Notes what was published, or does not exist.
    package mutating func notePublished(upTo number: UInt64) { published = max(published, number) }

    /// Numbers that were given out, or left out, and not published here; nil if there are none.
    package var missing: ClosedRange<UInt64>? {
        guard let given = consumer?.given, published < given else { return nil }
        return published + 1...given
    }
}
