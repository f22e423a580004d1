import Files
import FoundationEssentials
import Logging
import MessageBus
import Messages
import NATS
import Recording
import RelayCore
import Runtime
import ServiceKit
import SystemPackage
import ZeroMQ

/// Runs a relay that sends: passes to `Sending` what happens and when, and carries out its effects.
actor SendingEngine: Engine {
    static let directoryName = "relay"
    /// The pause before a connection is made anew that the library gave up, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    let thread: SocketThread
    let runtime: Runtime<Sending.Effect, Queue>
    let core: Sending
    let settings: RelaySettings
    /// Held as long as the program runs: no other relay has this spool.
    private let lock: DataLock
    let log: OwnThread<WriteAheadLog>
    let spool: OwnThread<LogCursor>
    let link: ServerLink
    let connection: NATSConnection
    /// Where messages are handed to the library.
    let publishing: OwnThread<Void>
    /// Where servers are asked, and waited for.
    let asking: OwnThread<Void>
    let listener: Listener
    let publishers: Publishers

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the spool of a data directory, and continues where the program last ended.
    /// - Throws: `RecordingError` if another relay has it, or it can't be read; `ServiceError` for settings that NATS can't use.
    init(settings: RelaySettings, host: ServiceHost) async throws {
        self.settings = settings
        let data = host.configuration.dataDirectory
        lock = try DataLock.acquire(in: data, directory: Self.directoryName, for: Program.relay.rawValue)
        let directory = Directory(data.appending(Self.directoryName).appending("spool"))
        let (spool, damage) = try Sending.Spool.open(directory, log: UUID().uuidString)
        if let damage { host.logger.error("\(damage)") }
        runtime = Runtime(host)
        core = Sending(
            Sending.Settings(
                site: settings.ownSite, servers: settings.servers,
                publishers: settings.subscribe.map(\.description).joined(separator: ", "),
                spoolLimit: settings.spoolLimit.bytes, holdLimit: settings.holdLimit.bytes,
                interval: settings.commitInterval.nanoseconds, maximumStreams: settings.maximumStreams),
            spool, at: runtime.now)
        log = try OwnThread(name: "spool", WriteAheadLog(in: directory, synced: spool.synced))
        self.spool = try OwnThread(name: "spool reader", LogCursor(in: directory, at: spool.start))
        publishing = try OwnThread(name: "nats", ())
        asking = try OwnThread(name: "nats requests", ())
        link = ServerLink()
        connection = try await link.connect(settings.connection(), on: asking)
        listener = try await host.listenerToStreams(
            at: settings.subscribe, receiveHighWaterMark: settings.receiveHighWaterMark)
        thread = try SocketThread(name: "relay")
        publishers = host.peers.publishers
    }

    func run() async throws {
        try await serve(
            { try await self.listener.forEachBatch { await self.take($0) } },
            { try await self.link.forEachNews(on: self.thread) { await self.takeNews() } },
            { try await self.link.forEachLoss(on: self.thread) { try await self.connectAgain() } },
            finish: { await self.finish() })
    }

    /// Takes what was received. What still waits when a stop is requested is replayed at the next start.
    private func take(_ batch: MessageBatch) {
        guard !core.isBlocked else { return perform() }
        takeEvents(in: batch, of: publishers, at: now)
        perform()
    }

    private func takeNews() async {
        if link.isConnected != core.isConnected {
            core.noteConnected(link.isConnected, nil, at: now)
            perform()
        }
        if !link.isConnected {
            let problem = await asking.run { [connection] _ in connection.problem }
            if !link.isConnected { core.noteConnected(false, problem, at: now) }
        }
        let results = link.take()
        if !results.isEmpty {
            core.acknowledged(results.map { ($0.identifier, Sending.Outcome($0.outcome)) }, at: now)
        }
        perform()
    }

    /// Connects anew after the library gave up.
    private func connectAgain() async throws {
        core.noteGivenUp(at: now)
        perform()
        try await wait(until: now.monotonic + Self.pause) { false }
        await asking.run { [connection] _ in connection.connectAgain() }
    }

    /// Takes nothing more, stores what there is, and waits a moment for acknowledgements.
    private func finish() async {
        core.stop(at: now)
        perform()
        let patience: Int64 = 2_000_000_000
        try? await wait(until: now.monotonic + patience) { [core] in core.isOver }
        try? await wait { [core] in core.isStored }
    }
}

extension Sending.Outcome {
    init(_ outcome: NATSConnection.PublishResult.Outcome) {
        self =
            switch outcome {
            case .stored(_, let isRepeat): .stored(isRepeat: isRepeat)
            case .unknown(let reason): .unknown(reason)
            case .notStored(let reason): .notStored(reason)
            case .full(let reason): .full(reason)
            }
    }
}
