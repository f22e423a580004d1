import DequeModule
import Messages
import SampleSources

/// What is known of the clients that push samples.
struct PushState {
    /// A stream whose client numbers its samples.
    final class NumberedRun {
        let published: PublishedStream
        let input: PushedInput
        /// What the client calls it; nil if it says nothing.
        let epoch: String?
        var queue: PushQueue<NumberedSamples>
        /// The times and values of the first sample, if the run began with number 0.
        let beginning: PushedSample?
        let clock: ClientClock

        init(
            _ published: PublishedStream, _ input: PushedInput, epoch: String?, next: Int, beginning: PushedSample?,
            clock: ClientClock
        ) {
            self.published = published
            self.input = input
            self.epoch = epoch
            queue = PushQueue(next: next)
            self.beginning = beginning
            self.clock = clock
        }
    }

    /// A session of Sensor Logger on one phone.
    struct SessionKey: Hashable {
        let device: String
        let session: String
    }

    final class LoggerSession {
        var queue = PushQueue<SensorLoggerMessage>(next: 0)
        var streams: SensorLoggerStreams
        /// nil before the first readings.
        var clock: ClientClock?
        var lastArrival: Int64
        /// Messages that were given up: late ones are refused.
        var givenUp: Deque<Range<Int>> = []
        /// Streams that have samples of this session.
        var known: Set<String> = []
        /// Those that have none since a message was given up.
        var interrupted: Set<String> = []

        init(_ streams: SensorLoggerStreams, at now: Int64) {
            self.streams = streams
            lastArrival = now
        }
    }

    /// A stream whose client numbers nothing.
    final class UnnumberedRun {
        var clock: DeviceClock?
        /// The time of the latest sample, on the device's clock.
        var last: Int64?
        var losses = LossEstimate()
    }

    struct ClockKey: Hashable {
        let device: String
        let clock: UnnumberedSamples.Clock
    }

    /// How the times of a device that numbers nothing lead to those of this machine.
    struct DeviceClock: Equatable {
        let client: ClientClock
        /// Which of all these clocks it is: one that is paired anew is another.
        let number: Int
        /// The number of the first one that has the same clock of the device.
        let device: Int
        /// The latest time that the device sent.
        var newest: Int64
        /// How far it was ahead of this machine's at first, in nanoseconds.
        let lead: Int64

        static func == (one: DeviceClock, other: DeviceClock) -> Bool { one.number == other.number }
    }

    /// Sessions of Sensor Logger that are remembered, however long their phones are silent, because their numbers show what is missing
    /// when they are back: those silent the longest go.
    static let maximumSessions = 4_096
    /// Streams that clients may make. One that has ended makes room.
    static let maximumStreams = 4_096
    /// Former runs that can be replayed.
    static let maximumFormer = 10_000

    var runs: [StreamName: NumberedRun] = [:]
    var sessions: [SessionKey: LoggerSession] = [:]
    var unnumbered: [StreamName: UnnumberedRun] = [:]
    var deviceClocks: [ClockKey: DeviceClock] = [:]
    var clocksBegun = 0
    var datagrams = WaitingDatagrams()
    /// All pushed streams.
    var names: Set<StreamName> = []
    /// Those whose clients are silent: one of them goes if there is no room.
    var ended: [StreamName] = []
    /// Runs whose client has begun another: what is kept of them can be replayed.
    var former: [PublishedStream] = []
    /// Epochs that were made beside the program's own.
    var epochsMade = 0
    /// Whether a stream has made room for another one.
    var hasRemoved = false
    /// By device: the clock of its client's run.
    var clocks: [String: (epoch: String, clock: ClientClock)] = [:]
    /// When something that waits is given up, on the monotonic clock; `.max` while nothing waits.
    var deadline = Int64.max

    /// What the recorder says of its sessions.
    var recordings = RecordingWatch()

    // Measures
    var accepted = 0
    var repeated = 0
    var refused = 0
}

/// One sample, to see whether a message repeats another.
struct PushedSample: Hashable {
    let time: Int64
    let values: ArraySlice<Double>

    /// The first of some rows of numbers.
    init?(first rows: PushedRows) {
        guard let time = rows.times.first else { return nil }
        self.time = time
        values = rows.values.prefix(rows.fields.count)
    }
}
