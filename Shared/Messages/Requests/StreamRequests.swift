/// Asks a publisher for its streams: `streams.list`.
///
/// Before it answers, the publisher publishes the samples that wait for their batch to fill, so `nextSequence` counts
/// every sample taken so far: a session that starts or stops now knows exactly where.
public struct StreamsList: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "streams.list"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// The publisher's streams, sorted by name.
    public struct Reply: Codable, Hashable, Sendable {
        /// One description per stream.
        public var streams: [StreamDescription]

        /// The streams.
        public init(streams: [StreamDescription]) { self.streams = streams }
    }

    /// The most patterns of one request: each is compared with each stream.
    public static let maximumPatterns = 500

    /// Which streams are listed: `phone/gyro`, `phone/` for all of a device, `*` for all. Absent: all. A publisher of before
    /// 0.7 lists all in any case.
    public var streams: [String]?

    /// Asks for some streams, or for all.
    public init(streams: [String]? = nil) { self.streams = streams }
}

/// Asks a publisher for the link that makes a phone a sensor: `phones.link`. It has the token with which devices push.
public struct PhonesLink: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "phones.link"
    /// Who may ask.
    public var neededRole: Role { .command }

    /// What a phone opens.
    public struct Reply: Codable, Hashable, Sendable {
        /// The page's address.
        public var link: String
        /// The link as a QR code for the phone's camera: its modules row by row, `1` for a dark one, without a margin.
        public var code: [String]

        /// A link and its code.
        public init(link: String, code: [String]) {
            self.link = link
            self.code = code
        }
    }

    /// Asks for the link.
    public init() {}
}

/// Starts a stream that is not running: `streams.start`. Its source begins anew; its sequence continues.
public struct StreamsStart: Request, Hashable {
    /// What the method answers.
    public typealias Reply = StreamDescription

    /// The method's name on the wire.
    public static let method = "streams.start"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one is refused.
    public static let isRepeatable = false

    /// The stream.
    public var stream: StreamName

    /// Asks for a start.
    public init(stream: StreamName) { self.stream = stream }
}

/// Stops a stream: `streams.stop`. Nothing of it is published once this is answered.
public struct StreamsStop: Request, Hashable {
    /// What the method answers.
    public typealias Reply = StreamDescription

    /// The method's name on the wire.
    public static let method = "streams.stop"
    /// Who may ask.
    public var neededRole: Role { .command }
    /// A second one is refused.
    public static let isRepeatable = false

    /// The stream.
    public var stream: StreamName

    /// Asks for a stop.
    public init(stream: StreamName) { self.stream = stream }
}

/// Asks a publisher for samples again: `samples.replay`.
///
/// The reply's further frames are the batches in order: for each its body, as it was published, followed by its
/// matrix if the body has no `values`. A reply is bounded; ask again for what it does not hold.
///
/// With `ranges` one request asks for runs of several streams. A publisher that does not know them answers for the first
/// alone: its reply has no `ranges` either.
public struct SamplesReplay: Request, Hashable {
    /// The method's name on the wire.
    public static let method = "samples.replay"
    /// Who may ask.
    public var neededRole: Role { .listen }

    /// A run of samples of one stream.
    public struct Range: Codable, Hashable, Sendable {
        /// The device.
        public var device: String
        /// The stream of that device.
        public var stream: String
        /// The epoch that the samples belong to.
        public var epoch: String
        /// The first sample wanted.
        public var from: Int
        /// How many are wanted.
        public var count: Int

        /// The run that a request without `ranges` asks for.
        public init(_ request: SamplesReplay) {
            device = request.device
            stream = request.stream
            epoch = request.epoch
            from = request.from
            count = request.count
        }
    }

    /// Which samples the reply's frames hold, and which could be had.
    public struct Reply: Codable, Hashable, Sendable {
        /// What a reply holds of one of several ranges.
        public struct Part: Codable, Hashable, Sendable {
            /// The first sample in the frames; if there are none, what was asked.
            public var from: Int
            /// How many samples the frames hold, without a hole.
            public var count: Int
            /// The oldest sample that is still kept; one past `last` if none is.
            public var first: Int
            /// The newest sample that is kept.
            public var last: Int
            /// How many of the reply's frames belong to this range.
            public var frames: Int
            /// Why this range is refused; the others are not.
            public var error: RequestError?

            /// What a reply to this range alone would say.
            public init(_ reply: Reply, frames: Int) {
                from = reply.from
                count = reply.count
                first = reply.first
                last = reply.last
                self.frames = frames
            }

            /// The refusal of one range.
            public init(_ error: RequestError, from: Int) {
                self.from = from
                count = 0
                first = 0
                last = -1
                frames = 0
                self.error = error
            }
        }

        /// The first sample in the frames; if there are none, what was asked.
        public var from: Int
        /// How many samples the frames hold, without a hole.
        public var count: Int
        /// The oldest sample that is still kept; one past `last` if none is.
        public var first: Int
        /// The newest sample that is kept.
        public var last: Int
        /// One for each of the request's `ranges`, in their order, as their frames are. What stands beside is the first
        /// range's.
        public var ranges: [Part]?

        /// What a reply holds.
        public init(from: Int, count: Int, first: Int, last: Int) {
            self.from = from
            self.count = count
            self.first = first
            self.last = last
        }

        /// What a reply to one of several ranges alone would say.
        public init(_ part: Part) {
            self.init(from: part.from, count: part.count, first: part.first, last: part.last)
        }

        /// What a reply to several ranges holds.
        public init(_ parts: [Part]) {
            if let first = parts.first { self.init(first) } else { self.init(from: 0, count: 0, first: 0, last: -1) }
            ranges = parts
        }
    }

    /// The device.
    public var device: String
    /// The stream of that device.
    public var stream: String
    /// The epoch that the samples belong to.
    public var epoch: String
    /// The first sample wanted.
    public var from: Int
    /// How many are wanted.
    public var count: Int
    /// All runs that are wanted; what stands beside is the first of them. Nil for that alone.
    public var ranges: [Range]?

    /// Asks for a run of samples.
    public init(device: String, stream: String, epoch: String, from: Int, count: Int) {
        self.device = device
        self.stream = stream
        self.epoch = epoch
        self.from = from
        self.count = count
    }

    /// One reply of the answers to several runs, and its frames.
    /// - Parameters:
    ///   - answers: one for each run, in their order.
    ///   - ranges: the request's.
    /// - Throws: the refusal of the only run of a request without `ranges`.
    package static func joined(
        _ answers: [Result<(reply: Reply, frames: [[UInt8]]), RequestError>], to ranges: [Range]?
    ) throws(RequestError) -> (reply: Reply, frames: [[UInt8]]) {
        if ranges == nil, let only = answers.first { return try only.get() }
        var parts: [Reply.Part] = []
        var frames: [[UInt8]] = []
        for (range, answer) in zip(ranges ?? [], answers) {
            switch answer {
            case .success(let found):
                parts.append(Reply.Part(found.reply, frames: found.frames.count))
                frames += found.frames
            case .failure(let error): parts.append(Reply.Part(error, from: range.from))
            }
        }
        return (Reply(parts), frames)
    }

    /// Asks for the runs that several requests ask for, of which there is at least one.
    public init(_ requests: [SamplesReplay]) {
        self = requests[0]
        ranges = requests.count > 1 ? requests.map(Range.init) : nil
    }
}
