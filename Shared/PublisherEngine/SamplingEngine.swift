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

/// Runs a sensor publisher: passes events with their times to `Publication`, carries out its effects, and answers requests.
///
/// Runs on a thread of its own, so that no other work delays a sample. Streams, standard input and requests take turns. Its work
/// is in extensions: effects (`+effects`), requests (`+requests`), measurements (`+metrics`).
actor SamplingEngine: Engine {
    /// The most bytes read from standard input in one turn.
    private static let chunkSize = 1 << 16
    /// The pause before a disconnected serial port or device is opened again, in nanoseconds.
    static let reopening: Int64 = 500_000_000

    let thread: SocketThread
    let runtime: Runtime<Publication.Effect, NoQueue>
    let core: Publication
    /// The sources of the streams, by index; nil for live streams.
    var sources: [(any SampleSource)?]
    let events: EventPublisher
    private let standardInput: FileDescriptor
    /// The live stream's input, if not standard input.
    private let serialPort: SerialPort?
    /// The readers of streams of devices, with the streams' indexes.
    let devices: [(stream: Int, reader: any DeviceReader)]
    private let elapsedClock: @Sendable () -> Int64
    private let replay = Mutex("")

    // Reused, to avoid allocations.
    var rows = SourceRows()
    var body = ByteBuffer(capacity: 1 << 16)
    var matrix: ByteBuffer? = ByteBuffer(capacity: 1 << 12)

    /// Requests that wait for an answer, by number.
    var questions: [Int: Wake<Result<Publication.Answer, RequestError>>] = [:]
    var questionsAsked = 0
    /// Pushes that wait for an answer, by the numbers of their requests.
    var pushes: [Int: Wake<PushAnswer>] = [:]
    /// Takes samples that devices push over HTTP; nil without `listen-http`.
    nonisolated let server: PushServer?
    /// Takes samples that devices send in datagrams; nil without `udp`.
    nonisolated let datagrams: DatagramReceiver?
    /// Takes messages from a broker; nil without `mqtt`.
    nonisolated let broker: MQTTReceiver?
    /// The recorder, for devices that push.
    nonisolated let recorder: RecorderLink?
    /// The recorder's last answer about running sessions, and its time on the monotonic clock in nanoseconds.
    var statuses: [RecordingState] = []
    var statusesAt = Int64.min / 2
    /// Why no messages come from the broker; nil if they do.
    var brokerProblem: String?
    private nonisolated let end: AsyncStream<Void>
    let endContinuation: AsyncStream<Void>.Continuation

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens all sources.
    /// - Parameters:
    ///   - standardInput: the input of a live stream.
    ///   - elapsedClock: a clock that continues while the machine sleeps, in nanoseconds.
    /// - Throws: `ServiceError` for a source that cannot be opened, `ZeroMQError` if the thread cannot be made.
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
        // One of three readings is unlikely to be delayed.
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

    /// The endpoint that answers `samples.replay`. Set it before anything runs.
    nonisolated var replayEndpoint: String {
        get { replay.withLock { $0 } }
        set { replay.withLock { $0 = newValue } }
    }

    /// Starts the core; only the first call has an effect.
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

    /// Publishes due and waiting samples, and stops all streams.
    private func finish() async {
        core.finish(at: now)
        perform()
        for await _ in end {}
    }

    /// The present moment. The core first checks whether the machine slept.
    var now: Moment {
        let elapsed = elapsedClock()
        let now = runtime.now
        core.notice(elapsed: elapsed, at: now)
        return now
    }

    // MARK: Standard input

    /// Reads standard input until its end.
    private func readInput() async throws {
        guard core.live != nil else { return try await waitForEnd() }
        if let serialPort { return try await read(serialPort) }
        let descriptor = standardInput.rawValue
        var status = stat()
        // Only a file's end is known to be complete: the pipe of a crashed program closes too, and a device hangs up.
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

    /// Reads a serial port, and opens it again each time it was disconnected.
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

    /// - Returns: why no more bytes can be read.
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
