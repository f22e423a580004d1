/// Asks a publisher for its streams: `streams.list`.
///
/// Before it replies, the publisher publishes the samples that wait for their batch to fill. So `nextSequence` counts every
/// sample taken so far, and a session that starts or stops now knows its exact position.
public struct StreamsList: Request, Hashable {
    /// The name on the wire.
    public static let method = "streams.list"
    /// The required role.
    public var neededRole: Role { .listen }

    /// The publisher's streams, sorted by name.
    public struct Reply: Codable, Hashable, Sendable {
        /// One description per stream.
        public var streams: [StreamDescription]

        /// Creates the reply.
        public init(streams: [StreamDescription]) { self.streams = streams }
    }

    /// The maximum number of patterns in a request: each is compared with each stream.
    public static let maximumPatterns = 500

    /// The streams to list: `phone/gyro`, `phone/` for all of a device, `*` for all. All if omitted. Publishers before 0.7
    /// always list all.
    public var streams: [String]?

    /// Creates the request.
    public init(streams: [String]? = nil) { self.streams = streams }
}

/// Asks a publisher for the link that makes a phone a sensor: `phones.link`. The link has the token with which devices push.
public struct PhonesLink: Request, Hashable {
    /// The name on the wire.
    public static let method = "phones.link"
    /// The required role.
    public var neededRole: Role { .command }

    /// The link for a phone.
    public struct Reply: Codable, Hashable, Sendable {
        /// The page's address.
        public var link: String
        /// The link as a QR code for the phone's camera: its modules row by row, `1` for a dark one, without a margin.
        public var code: [String]

        /// Creates the reply.
        public init(link: String, code: [String]) {
            self.link = link
            self.code = code
        }
    }

    /// Creates the request.
    public init() {}
}

/// Starts a stream that is not running: `streams.start`. Its source starts from the beginning; its sequence continues.
public struct StreamsStart: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = StreamDescription

    /// The name on the wire.
    public static let method = "streams.start"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request is refused.
    public static let isRepeatable = false

    /// The stream.
    public var stream: StreamName

    /// Creates the request.
    public init(stream: StreamName) { self.stream = stream }
}

/// Stops a stream: `streams.stop`. After the reply none of its samples are published.
public struct StreamsStop: Request, Hashable {
    /// The type of the reply.
    public typealias Reply = StreamDescription

    /// The name on the wire.
    public static let method = "streams.stop"
    /// The required role.
    public var neededRole: Role { .command }
    /// A repeated request is refused.
    public static let isRepeatable = false

    /// The stream.
    public var stream: StreamName

    /// Creates the request.
    public init(stream: StreamName) { self.stream = stream }
}

/// Asks a publisher to replay samples: `samples.replay`.
///
/// The reply's further frames are the batches in order: for each its body, as it was published, followed by its matrix if the
/// body has no `values`. The size of a reply is limited; request the remaining samples again.
///
/// With `ranges`, one request asks for runs of several streams. A publisher that does not know `ranges` answers only for the
/// first run, and its reply has no `ranges`.
public struct SamplesReplay: Request, Hashable {
    /// The name on the wire.
    public static let method = "samples.replay"
    /// The required role.
    public var neededRole: Role { .listen }

    /// A run of samples of one stream.
    public struct Range: Codable, Hashable, Sendable {
        /// The device's name.
        public var device: String
        /// The stream of that device.
        public var stream: String
        /// The epoch of the samples.
        public var epoch: String
        /// The first requested sample.
        public var from: Int
        /// The number of requested samples.
        public var count: Int

        /// Creates the run that a request without `ranges` asks for.
        public init(_ request: SamplesReplay) {
            device = request.device
            stream = request.stream
            epoch = request.epoch
            from = request.from
            count = request.count
        }
    }

    /// The samples that the reply's frames hold, and the samples that the publisher retains.
    public struct Reply: Codable, Hashable, Sendable {
        /// The part of a reply for one of several ranges.
        public struct Part: Codable, Hashable, Sendable {
            /// The first sample in the frames; the requested `from` if there are no frames.
            public var from: Int
            /// The number of samples in the frames, without a gap.
            public var count: Int
            /// The oldest sample that is still retained; `last + 1` if none is.
            public var first: Int
            /// The newest sample that is retained.
            public var last: Int
            /// The number of the reply's frames that belong to this range.
            public var frames: Int
            /// Why this range is refused; the other ranges are not affected.
            public var error: RequestError?

            /// Creates the part from a reply to this range alone.
            public init(_ reply: Reply, frames: Int) {
                from = reply.from
                count = reply.count
                first = reply.first
                last = reply.last
                self.frames = frames
            }

            /// Creates the refusal of one range.
            public init(_ error: RequestError, from: Int) {
                self.from = from
                count = 0
                first = 0
                last = -1
                frames = 0
                self.error = error
            }
        }

        /// The first sample in the frames; the requested `from` if there are no frames.
        public var from: Int
        /// The number of samples in the frames, without a gap.
        public var count: Int
        /// The oldest sample that is still retained; `last + 1` if none is.
        public var first: Int
        /// The newest sample that is retained.
        public var last: Int
        /// One part for each of the request's `ranges`, in their order, which is also the order of the frames. The other fields
        /// are those of the first range.
        public var ranges: [Part]?

        /// Creates a reply to a request without `ranges`.
        public init(from: Int, count: Int, first: Int, last: Int) {
            self.from = from
            self.count = count
            self.first = first
            self.last = last
        }

        /// Creates the reply to a request for this range alone.
        public init(_ part: Part) {
            self.init(from: part.from, count: part.count, first: part.first, last: part.last)
        }

        /// Creates a reply to a request with `ranges`.
        public init(_ parts: [Part]) {
            if let first = parts.first { self.init(first) } else { self.init(from: 0, count: 0, first: 0, last: -1) }
            ranges = parts
        }
    }

    /// The device's name.
    public var device: String
    /// The stream of that device.
    public var stream: String
    /// The epoch of the samples.
    public var epoch: String
    /// The first requested sample.
    public var from: Int
    /// The number of requested samples.
    public var count: Int
    /// All requested runs; the other fields are the first of them. Nil if there is only that one.
    public var ranges: [Range]?

    /// Creates a request for a run of samples.
    public init(device: String, stream: String, epoch: String, from: Int, count: Int) {
        self.device = device
        self.stream = stream
        self.epoch = epoch
        self.from = from
        self.count = count
    }

    /// Joins the replies to several runs, and their frames, into one.
    /// - Parameters:
    ///   - answers: one for each run, in their order.
    ///   - ranges: the request's `ranges`.
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

    /// Joins requests for several runs into one. There must be at least one.
    public init(_ requests: [SamplesReplay]) {
        self = requests[0]
        ranges = requests.count > 1 ? requests.map(Range.init) : nil
    }
}
