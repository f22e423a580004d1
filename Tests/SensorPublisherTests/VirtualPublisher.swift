import Messages
import PublisherCore
import SampleSources
import ServiceKit
import Testing

/// A `Publication` in a simulated world: the test sets the clocks and decides when sources are read, and a listener remembers
/// everything.
final class VirtualPublisher {
    /// A listener's record of one stream.
    struct Heard {
        var batches: [RowBatch] = []
        /// The clock reading of each batch.
        var clocks: [ClockReading] = []
        var descriptions: [StreamDescription] = []
        var rows: [Double] { batches.flatMap(\.rows) }
    }

    let core: Publication
    private var sources: [(any SampleSource)?]
    private(set) var heard: [Heard]
    /// The batches of each stream, by epoch.
    private(set) var epochs: [StreamName: [String: [RowBatch]]] = [:]
    /// All batches in publication order, each with its time on the monotonic clock.
    private(set) var published: [(stream: Int, batch: RowBatch, at: Int64)] = []
    private(set) var answers: [Int: Result<Publication.Answer, RequestError>] = [:]
    /// The answers to clients that pushed samples.
    private(set) var pushAnswers: [Int: PushAnswer] = [:]
    private(set) var health: [String: String] = [:]
    private(set) var isFinished = false
    /// A hash of everything that the core requested; equal for runs with the same seed.
    private(set) var digest: UInt64 = 14_695_981_039_346_656_037
    private(set) var request = 0

    var now: Moment
    /// How far CLOCK_BOOTTIME is ahead of the monotonic clock.
    var slept: Int64 = 0
    /// Whether rows are delivered at once; otherwise they wait for `deliver`.
    var readsAtOnce: () -> Bool = { true }
    private(set) var waitingReads: [(stream: PublishedStream, count: Int)] = []
    /// The number of effects until the program is killed; nil for no kill.
    var effectsToLive: Int?
    private(set) var isDead = false
    private var rows = SourceRows()

    init(
        _ configurations: [StreamConfiguration], sources: [(any SampleSource)?], epoch: String = "one",
        retention: Int64 = 600_000_000_000, retentionBytes: Int = 1 << 24, startsStopped: Bool = false,
        at time: Int64 = 50_000_000_000
    ) throws {
        let streams = try zip(configurations, sources).enumerated().map { index, stream in
            try PublishedStream(stream.0, source: stream.1, at: index, epoch: epoch)
        }
        core = Publication(
            Publication.Settings(retention: retention, retentionBytes: retentionBytes, startsStopped: startsStopped),
            streams: streams, epoch: epoch, sleepWatch: SleepWatch(elapsed: 0, uptime: 0))
        self.sources = sources
        heard = streams.map { _ in Heard() }
        now = Moment(monotonic: time, date: WallTime(nanosecondsSince1970: 1_795_219_200_000_000_000))
    }

    func begin() {
        core.begin(replayEndpoint: "tcp://here:1", at: now)
        perform()
    }

    /// Carries out due effects until none are left.
    func settle() {
        look()
        while !isDead, core.nextDeadline <= now.monotonic {
            core.wake(at: now)
            perform()
        }
    }

    /// Runs by the core's own deadlines until a time.
    func run(until end: Int64) {
        settle()
        while !isDead, core.nextDeadline <= end {
            pass(to: max(core.nextDeadline, now.monotonic))
            settle()
        }
        if !isDead { pass(to: end) }
    }

    func run(seconds: Double) { run(until: now.monotonic + Int64(seconds * 1e9)) }

    /// Advances time while the program hangs.
    func pass(to time: Int64) {
        now.date = WallTime(nanosecondsSince1970: now.date.nanosecondsSince1970 + time - now.monotonic)
        now.monotonic = time
    }

    /// Makes a request, and returns its number.
    func ask(_ question: (Publication, Int, Moment) -> Void) -> Int {
        look()
        request += 1
        question(core, request, now)
        perform()
        return request
    }

    func list(_ streams: [String]? = nil) -> Int {
        ask { $0.list(StreamsList(streams: streams), as: $1, at: $2) }
    }

    func start(_ name: StreamName) -> Int { ask { $0.start(StreamsStart(stream: name), as: $1, at: $2) } }
    func stop(_ name: StreamName) -> Int { ask { $0.stop(StreamsStop(stream: name), as: $1, at: $2) } }

    func push(_ message: PushMessage) -> Int { ask { $0.push(message, as: $1, at: $2) } }

    /// Delivers a datagram.
    func take(_ datagram: Datagram) {
        look()
        core.take(datagram, as: request + 1, at: now)
        request += datagram.messages.count
        perform()
    }

    func finish() {
        look()
        core.finish(at: now)
        perform()
    }

    /// Delivers bytes on standard input.
    func type(_ text: String) {
        look()
        core.take(Array(text.utf8).span, at: now)
        perform()
    }

    func deliver(_ index: Int) {
        let (stream, count) = waitingReads.remove(at: index)
        read(stream, count)
        perform()
    }

    /// A replay's reply, and its batches and rows.
    func replay(_ request: SamplesReplay) throws -> (reply: SamplesReplay.Reply, batches: [HeardBatch]) {
        var replay = try core.beginReplay(request)
        while !replay.isComplete { core.findNext(of: &replay, at: now) }
        core.endReplay()
        let (reply, frames) = try replay.reply()
        var rest = frames[...]
        var batches: [HeardBatch] = []
        while let body = rest.popFirst() {
            let batch = try WireCoding.decode(SampleBatch.self, from: body)
            batches.append(HeardBatch(batch, packed: batch.types == nil && batch.values == nil ? rest.popFirst() : nil))
        }
        return (reply, batches)
    }

    func descriptions(_ request: Int) throws -> [StreamDescription] {
        switch try #require(answers[request]).get() {
        case .streams(let streams): streams
        case .stream(let stream): [stream]
        }
    }

    func refusal(_ request: Int) -> RequestError? {
        if case .failure(let error) = answers[request] { error } else { nil }
    }

    private func look() {
        core.notice(elapsed: now.monotonic + slept, at: now)
        perform()
    }

    func perform() {
        var effects: [Publication.Effect] = []
        while !isDead, core.takeEffects(into: &effects) {
            for effect in effects {
                if let left = effectsToLive {
                    effectsToLive = left - 1
                    isDead = left == 0
                    if isDead { return }
                }
                perform(effect)
            }
            effects.removeAll()
        }
    }

    private func perform(_ effect: Publication.Effect) {
        switch effect {
        case .read(let stream, let count):
            if readsAtOnce() { read(stream, count) } else { waitingReads.append((stream, count)) }
        case .rewind(let stream):
            note("rewind \(stream.name)")
            do throws(PublisherError) {
                try sources[stream.index]?.rewind()
                core.rewound(stream, nil, at: now)
            } catch {
                core.rewound(stream, error, at: now)
            }
        case .publish(let batch, let stream, let clock):
            while heard.count <= stream.index { heard.append(Heard()) }
            epochs[stream.name, default: [:]][stream.epoch, default: []].append(batch)
            note("publish \(stream.name) \(batch.firstSequence) \(batch.count) \(clock.uptime)")
            heard[stream.index].batches.append(batch)
            heard[stream.index].clocks.append(clock)
            published.append((stream.index, batch, now.monotonic))
        case .describe(let description, let stream):
            note("describe \(stream.name) \(description.state) \(description.nextSequence)")
            while heard.count <= stream.index { heard.append(Heard()) }
            heard[stream.index].descriptions.append(description)
        case .acknowledge(let request, let answer):
            note("acknowledge \(request) \(answer)")
            #expect(pushAnswers.updateValue(answer, forKey: request) == nil, "each message is answered once")
        case .answer(let request, let answer):
            note("answer \(request)")
            #expect(answers.updateValue(answer, forKey: request) == nil, "each request is answered once")
        case .notice(.report(_, let sentence, let key, _)): health[key] = sentence
        case .notice(.clear(let key)): health[key] = nil
        case .notice(.log(_, let message, _)): note("\(message)")
        case .notice: Issue.record("\(effect)")
        case .finished:
            #expect(!isFinished)
            isFinished = true
        }
    }

    private func read(_ stream: PublishedStream, _ count: Int) {
        sources[stream.index]?.read(count, into: &rows)
        core.take(&rows, of: stream, at: now)
    }

    private func note(_ words: String) {
        for byte in words.utf8 { digest = (digest ^ UInt64(byte)) &* 1_099_511_628_211 }
    }
}
