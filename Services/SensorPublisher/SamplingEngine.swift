import FoundationEssentials
import Glibc
import MessageBus
import Messages
import PublisherCore
import SampleSources
import Runtime
import ServiceKit
import Synchronization
import SystemPackage
import ZeroMQ

/// Runs a sensor publisher: tells `Publication` what happens and when, carries out what it asks for, and answers requests.
///
/// On a thread of its own, so that nothing else delays a sample; streams, standard input and requests take turns. Its work is
/// in extensions: what is to be done (`+effects`), what is asked (`+requests`), what it counts (`+metrics`).
actor SamplingEngine: Engine {
    /// How many bytes are read from standard input in one turn.
    private static let chunkSize = 1 << 16

    let thread: SocketThread
    let runtime: Runtime<Publication.Effect, NoQueue>
    let core: Publication
    /// The sources of the streams, by index; nil for standard input.
    var sources: [(any SampleSource)?]
    let events: EventPublisher
    private let standardInput: FileDescriptor
    private let elapsedClock: @Sendable () -> Int64
    private let replay = Mutex("")

    // Used again and again, so that little memory is asked for.
    var rows = SourceRows()
    var body = ByteBuffer(capacity: 1 << 16)
    var matrix: ByteBuffer? = ByteBuffer(capacity: 1 << 12)

    /// Requests that wait for an answer, by their numbers.
    var questions: [Int: AsyncStream<Result<Publication.Answer, RequestError>>.Continuation] = [:]
    var questionsAsked = 0
    private nonisolated let end: AsyncStream<Void>
    let endContinuation: AsyncStream<Void>.Continuation

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens all sources.
    /// - Parameters:
    ///   - standardInput: where a live stream reads.
    ///   - elapsedClock: a clock that continues while the machine sleeps, in nanoseconds.
    /// - Throws: `ServiceError` for a source that can't be opened, `ZeroMQError` if the thread can't be made.
    init(
        settings: PublisherSettings, host: ServiceHost, standardInput: FileDescriptor = .standardInput,
        elapsedClock: @escaping @Sendable () -> Int64
    ) throws {
        let epoch = UUID().uuidString
        var sources: [(any SampleSource)?] = []
        var streams: [PublishedStream] = []
        do throws(PublisherError) {
            for configuration in settings.streams {
                let source = try configuration.openSource()
                streams.append(
                    try PublishedStream(configuration, source: source, at: streams.count, epoch: epoch))
                sources.append(source)
            }
        } catch {
            throw ServiceError(error)
        }
        self.sources = sources
        runtime = Runtime(host)
        // Of three looks it is unlikely that each was held up.
        let elapsed = (0..<3).map { [runtime] _ in elapsedClock() - runtime.monotonic }.max() ?? 0
        core = Publication(
            Publication.Settings(
                retention: settings.retention.nanoseconds, retentionBytes: settings.retentionBytes.bytes,
                startsStopped: settings.startsStopped),
            streams: streams, epoch: epoch, sleepWatch: SleepWatch(elapsed: elapsed, uptime: 0))
        self.standardInput = standardInput
        self.elapsedClock = elapsedClock
        events = host.publisher
        thread = try SocketThread(name: "sampler")
        (end, endContinuation) = AsyncStream.makeStream()
    }

    /// Where `samples.replay` is answered. Set it before anything runs.
    nonisolated var replayEndpoint: String {
        get { replay.withLock { $0 } }
        set { replay.withLock { $0 = newValue } }
    }

    /// Starts what there is; only the first call does.
    func begin() {
        guard !core.hasBegun else { return }
        core.begin(replayEndpoint: replayEndpoint, at: now)
        perform()
    }

    func run() async throws {
        begin()
        try await serve({ try await self.readInput() }, finish: { await self.finish() })
    }

    /// Publishes what is due and what waits, and stops all streams.
    private func finish() async {
        core.finish(at: now)
        perform()
        for await _ in end {}
    }

    /// This moment. The core hears first whether the machine slept.
    var now: Moment {
        let elapsed = elapsedClock()
        var now = runtime.now
        // If the thread was held up between the readings, once more.
        for _ in 0..<10 where runtime.monotonic - now.monotonic > 100_000 { now = runtime.now }
        core.notice(elapsed: elapsed, at: now)
        return now
    }

    // MARK: Standard input

    /// Takes what comes on standard input, until its end.
    private func readInput() async throws {
        guard core.live != nil else { return try await waitForEnd() }
        let descriptor = standardInput.rawValue
        var status = stat()
        let isPipe = fstat(descriptor, &status) == 0 && [S_IFIFO, S_IFSOCK].contains(status.st_mode & S_IFMT)
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        var end: Publication.InputEnd?
        while end == nil {
            _ = try await thread.readable(descriptor: descriptor)
            do {
                // It is readable, so this does not wait.
                let count = try chunk.withUnsafeMutableBytes { try standardInput.read(into: $0) }
                if count > 0 {
                    core.take(chunk.span.extracting(0..<count), at: now)
                    perform()
                } else {
                    end = isPipe ? .pipe : .file
                }
            } catch let error as Errno where error == .resourceTemporarilyUnavailable || error == .interrupted {
                continue
            } catch {
                end = .failure(PublisherError(.unreadable, "standard input can't be read: \(error)"))
            }
        }
        if let end { core.endInput(end, at: now) }
        perform()
        try await waitForEnd()
    }

    /// Waits until the task is cancelled.
    private func waitForEnd() async throws { try await wait { false } }
}
