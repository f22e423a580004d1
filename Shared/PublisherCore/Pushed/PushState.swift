import DequeModule
import Messages
import SampleSources

/// The state of the clients that push samples.
struct PushState {
    /// A stream whose client numbers its samples.
    final class NumberedRun {
        let published: PublishedStream
        let input: PushedInput
        /// The client's name of the epoch; nil if it gives none.
        let epoch: String?
        var queue: PushQueue<NumberedSamples>
        /// The time and values of the first sample, if the run began with number 0.
        let beginning: PushedSample?
        /// The run's first sample: its time on the client's clock, and its arrival on the monotonic clock.
        private let first: (time: Int64, arrival: Int64)
        /// Replaced when times go back.
        var clock: ClientClock

        init(
            _ published: PublishedStream, _ input: PushedInput, epoch: String?, next: Int, beginning: PushedSample?,
            first: (time: Int64, arrival: Int64), clock: ClientClock
        ) {
            self.published = published
            self.input = input
            self.epoch = epoch
            queue = PushQueue(next: next)
            self.beginning = beginning
            self.first = first
            self.clock = clock
        }

        /// Whether a sample may be one from just before the run, which the run's first message overtook.
        func hasOvertaken(_ sample: PushedSample, at now: Int64) -> Bool {
            let patience = PushQueue<NumberedSamples>.patience
            return now - first.arrival < patience && sample.time < first.time && first.time - sample.time < patience
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
        /// Lost messages. If one arrives late, it is refused.
        var givenUp: Deque<Range<Int>> = []
        /// Streams with samples of this session.
        var known: Set<String> = []
        /// Streams of `known` that have no samples since a message was given up.
        var interrupted: Set<String> = []

        init(_ streams: SensorLoggerStreams, at now: Int64) {
            self.streams = streams
            lastArrival = now
        }
    }

    /// A stream whose client does not number samples.
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

    /// The conversion of a device's unnumbered times to this machine's.
    struct DeviceClock: Equatable {
        let client: ClientClock
        /// Identifies this clock: another clock of the device has another number.
        let number: Int
        /// The latest time that the device sent.
        var newest: Int64

        static func == (one: DeviceClock, other: DeviceClock) -> Bool { one.number == other.number }
    }

    /// Remembered sessions of Sensor Logger. They outlast any silence of their phones, because their numbers show what is missing
    /// afterwards. Above this number, those silent the longest are forgotten.
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
    /// Streams whose clients are silent: one of them is removed if there is no room.
    var ended: [StreamName] = []
    /// Runs whose client has begun another. Their retained samples can be replayed.
    var former: [PublishedStream] = []
    /// The number of epochs made besides the program's own.
    var epochsMade = 0
    /// Whether a stream was removed to make room.
    var hasRemoved = false
    /// By device: the clock of its client's epoch.
    var clocks: [String: (epoch: String, clock: ClientClock)] = [:]
    /// When missing messages are given up, on the monotonic clock; `.max` while nothing waits.
    var deadline = Int64.max

    /// The recorder's reports about its sessions.
    var recordings = RecordingWatch()

    // Measures
    var accepted = 0
    var repeated = 0
    var refused = 0
}

/// One sample, to recognise a message that repeats another.
struct PushedSample: Hashable {
    let time: Int64
    let values: ArraySlice<Double>

    /// The first of some rows of numbers; nil if there is none.
    init?(first rows: PushedRows) {
        guard let time = rows.times.first else { return nil }
        self.time = time
        values = rows.values.prefix(rows.fields.count)
    }
}
