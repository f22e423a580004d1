import FoundationEssentials
import Glibc
import Logging
import MessageBus
import Messages
import PublisherCore
import SampleSources
import Runtime
import SensorReaders
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
    /// The pause before a serial port or a device that is away is looked for again, in nanoseconds.
    static let reopening: Int64 = 500_000_000

    let thread: SocketThread
    let runtime: Runtime<Publication.Effect, NoQueue>
    let core: Publication
    /// The sources of the streams, by index; nil for standard input.
    var sources: [(any SampleSource)?]
    let events: EventPublisher
    private let standardInput: FileDescriptor
    /// Where the live stream is read instead.
    private let serialPort: SerialPort?
    /// What gives the samples of other streams, by the streams' indexes.
    let devices: [(stream: Int, reader: any DeviceReader)]
    private let elapsedClock: @Sendable () -> Int64
    private let replay = Mutex("")

    // Used again and again, so that little memory is asked for.
    var rows = SourceRows()
    var body = ByteBuffer(capacity: 1 << 16)
    var matrix: ByteBuffer? = ByteBuffer(capacity: 1 << 12)

    /// Requests that wait for an answer, by their numbers.
    var questions: [Int: Wake<Result<Publication.Answer, RequestError>>] = [:]
    var questionsAsked = 0
    /// Clients that wait for an answer to what they pushed, by the numbers of their requests.
    var pushes: [Int: Wake<PushAnswer>] = [:]
    /// Takes what devices push; nil without `listen-http`.
    nonisolated let server: PushServer?
    /// Takes what devices send in datagrams; nil without `udp`.
    nonisolated let datagrams: DatagramReceiver?
    /// Takes messages of a broker; nil without `mqtt`.
    nonisolated let broker: MQTTReceiver?
    /// The recorder, for devices that push.
    nonisolated let recorder: RecorderLink?
    /// What it said of the sessions that run, and when, on the monotonic clock.
    var statuses: [RecordingState] = []
    var statusesAt = Int64.min / 2
    /// Why there are no messages of the broker; nil if there are.
    var brokerProblem: String?
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
    ) async throws {
        recorder = try await RecorderLink(settings, on: host)
        let epoch = UUID().uuidString
        var sources: [(any SampleSource)?] = []
        var streams: [PublishedStream] = []
        var serialPort: SerialPort?
        do throws(PublisherError) {
            for configuration in settings.streams {
                if case .serial(let serial) = configuration.source { serialPort = try SerialPort(serial) }
                let source = try configuration.openSource()
                streams.append(
                    try PublishedStream(configuration, source: source, at: streams.count, epoch: epoch))
                sources.append(source)
            }
        } catch {
            throw ServiceError(error)
        }
        self.sources = sources
        self.serialPort = serialPort
        devices = try Self.devices(of: settings.streams)
        runtime = Runtime(host)
        // Of three looks it is unlikely that each was held up.
        let elapsed = (0..<3).map { [runtime] _ in elapsedClock() - runtime.monotonic }.max() ?? 0
        var publication = Publication.Settings(
            retention: settings.retention.nanoseconds, retentionBytes: settings.retentionBytes.bytes,
            startsStopped: settings.startsStopped)
        publication.machine = ThisMachine.boot
        publication.phones = settings.phones
        publication.platform = settings.phonePlatform
        core = Publication(
            publication, streams: streams, epoch: epoch, sleepWatch: SleepWatch(elapsed: elapsed, uptime: 0))
        server = try PushServer(settings, at: runtime.now.date)
        datagrams = try DatagramReceiver(settings)
        broker = try MQTTReceiver(settings.mqttSettings)
        if let notice = server?.notice { host.logger.warning("\(notice)") }
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
        let (server, recorder, datagrams, broker) = (server, recorder, datagrams, broker)
        try await serve(
            { try await self.readInput() },
            { try await self.readDevices() },
            {
                guard let server else { return try await self.waitForEnd() }
                try await server.run(
                    PushRoutes(engine: self, phoneLink: server.phoneLink, experiment: server.experiment))
            },
            {
                guard let datagrams else { return try await self.waitForEnd() }
                try await datagrams.run(self)
            },
            {
                guard let broker else { return try await self.waitForEnd() }
                try await broker.run(self)
            },
            {
                guard let recorder else { return try await self.waitForEnd() }
                try await recorder.listener.forEachBatch { await self.take($0) }
            }, finish: { await self.finish() })
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
        let now = runtime.now
        core.notice(elapsed: elapsed, at: now)
        return now
    }

    // MARK: Standard input

    /// Takes what comes on standard input, until its end.
    private func readInput() async throws {
        guard core.live != nil else { return try await waitForEnd() }
        if let serialPort { return try await read(serialPort) }
        let descriptor = standardInput.rawValue
        var status = stat()
        // Only a file can be known to be complete: a program that crashed closes its pipe too, and a device hangs up.
        let isFile = fstat(descriptor, &status) == 0 && status.st_mode & S_IFMT == S_IFREG
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
                    end = isFile ? .file : .pipe
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

    /// Takes what comes from a serial port, and opens it again whenever it was away.
    private func read(_ port: SerialPort) async throws {
        while true {
            do throws(PublisherError) {
                let file = try port.open()
                let failure = await takeAll(from: file, of: port)
                try? file.close()
                throw failure
            } catch {
                try Task.checkCancellation()
                core.interruptInput(error, at: now)
                perform()
            }
            try await wait(until: runtime.monotonic + Self.reopening) { false }
        }
    }

    /// - Returns: why there is nothing more.
    private func takeAll(from file: FileDescriptor, of port: SerialPort) async -> PublisherError {
        var chunk = [UInt8](repeating: 0, count: Self.chunkSize)
        while true {
            do {
                _ = try await thread.readable(descriptor: file.rawValue)
                let count = try chunk.withUnsafeMutableBytes { try file.read(into: $0) }
                guard count > 0 else { return port.problem("was closed", Errno.ioError) }
                core.take(chunk.span.extracting(0..<count), at: now)
                perform()
            } catch let error as Errno where error == .resourceTemporarilyUnavailable || error == .interrupted {
                continue
            } catch {
                return port.problem("can't be read", error)
            }
        }
    }

    /// Waits until the task is cancelled.
    func waitForEnd() async throws { try await wait { false } }
}
