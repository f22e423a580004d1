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

/// Runs a sending relay: passes events with their time to `Sending` and carries out its effects.
actor SendingEngine: Engine {
    static let directoryName = "relay"
    /// The pause before reconnecting after the library gave up, in nanoseconds.
    private static let pause: Int64 = 1_000_000_000

    let thread: SocketThread
    let runtime: Runtime<Sending.Effect, Queue>
    let core: Sending
    let settings: RelaySettings
    /// Held while the program runs, so that no other relay uses this spool.
    private let lock: DataLock
    let log: OwnThread<WriteAheadLog>
    let spool: OwnThread<LogCursor>
    let link: ServerLink
    let connection: NATSConnection
    /// Hands messages to the library.
    let publishing: OwnThread<Void>
    /// Queries the servers and waits for their replies.
    let asking: OwnThread<Void>
    let listener: Listener
    let publishers: Publishers

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Opens the spool of a data directory and continues where the previous run of the program ended.
    /// - Throws: `RecordingError` if another relay uses the spool or it cannot be read; `ServiceError` if NATS cannot use the
    ///   settings.
    init(settings: RelaySettings, host: ServiceHost) async throws {
        self.settings = settings
        let data = host.configuration.dataDirectory
        lock = try DataLock.acquire(in: data, directory: Self.directoryName, for: Program.relay.rawValue)
        let directory = Directory(data.appending(Self.directoryName).appending("spool"))
        let (spool, damage) = try Sending.Spool.open(directory, log: UUID().uuidString)
        if let damage {
            host.logger.error(
                "a spool file is damaged: its data from this byte on is not sent",
                metadata: ["file": "\(damage.path)", "byte": "\(damage.offset)"])
        }
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

    /// Takes received events even while the spool accepts nothing, so that the core notes the missing samples. Events still
    /// waiting at a stop request are replayed after the next start.
    private func take(_ batch: MessageBatch) {
        guard !core.isStopping else { return perform() }
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

    /// Reconnects after the library gave up.
    private func connectAgain() async throws {
        core.noteGivenUp(at: now)
        perform()
        try await wait(until: now.monotonic + Self.pause) { false }
        await asking.run { [connection] _ in connection.connectAgain() }
    }

    /// Stops taking events, stores those that were taken, and waits up to 2 s for acknowledgements.
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
            case .tooLarge(let reason): .tooLarge(reason)
            }
    }
}
