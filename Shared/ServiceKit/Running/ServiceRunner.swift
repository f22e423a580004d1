import FoundationEssentials
import Glibc
import Logging
import MessageBus
import ServiceLifecycle
import UnixSignals
import ZeroMQ

/// Runs a program from its command line to its exit code.
///
/// It reads the configuration, opens sockets, prints the ready line, and runs the service's parts until SIGTERM or SIGINT. Then
/// each part is told to stop, in reverse order, and has time to finish its work. A second signal, or the end of that time,
/// cancels the rest.
package enum ServiceRunner<Command: ServiceCommand> {
    /// How long a program may take to drain and flush. Container engines send SIGKILL 10 s after SIGTERM; before that, the
    /// program must report by itself what it could not finish.
    package static var drainLimit: Duration { .seconds(7) }

    /// How long cancelled parts may take to end, in seconds: they only have to release what they hold. After that the process
    /// exits, even if threads hang.
    private static var lastResort: UInt32 { 2 }

    /// How long the last messages may take to leave: the sockets' `SocketOptions.linger`, and a margin.
    private static var sendLimit: Duration { .seconds(1) }

    /// Runs the program, and prints its error, if any, on standard error in one sentence.
    /// - Parameters:
    ///   - flags: the command line's values.
    ///   - checkOnly: only check the configuration and the disk.
    ///   - drainLimit: shorter in tests.
    /// - Returns: the exit code.
    package static func run(
        flags: FlagValues, checkOnly: Bool,
        environment: [String: String] = ProcessInfo.processInfo.environment, drainLimit: Duration = drainLimit
    ) async -> ExitStatus {
        let format = LogStyle.beforehand(for: Command.program, flags: flags, environment: environment)
        do {
            let reader = try ConfigurationReader(for: Command.program, flags: flags, environment: environment)
            let configuration = try ServiceConfiguration(for: Command.program, reading: reader)
            let settings = try Command.Settings(reading: reader)
            try reader.finish()
            if checkOnly {
                try configuration.security.check()
                try await Command.check(settings, configuration)
                StandardStream.output.print("\(Command.program): configuration and files are good\n")
                return .done
            }
            FileMode.apply(configuration.fileMode)
            LoggingSystem.bootstrapStandardError(from: configuration.logLevel, as: configuration.logStyle)
            let (status, end) = try await serve(settings, configuration, drainLimit: drainLimit)
            // Messages that are unsent when the process ends are lost.
            await end.wait(atMost: sendLimit)
            return status
        } catch {
            StandardStream.error.print(format.line(for: error, of: Command.program))
            return ExitStatus(error)
        }
    }

    /// Runs the service. When this returns, nothing holds its sockets any more, so that they end once they have sent
    /// everything.
    private static func serve(
        _ settings: Command.Settings, _ configuration: ServiceConfiguration, drainLimit: Duration
    ) async throws -> (ExitStatus, AwaitedEnd) {
        OpenFiles.raiseLimit()
        let host = try ServiceHost(
            configuration: configuration, logger: Logger(label: Command.program.rawValue),
            publishing: Command.publishingOptions(settings))
        // The end of a reader of the ready line or the log must not end the program.
        signal(SIGPIPE, SIG_IGN)
        let running = try await Command.start(settings, on: host)
        let answering = try await AnsweringParts(
            on: host, router: running.router, metrics: running.metrics)
        let endpoints = answering.endpoints
        let parts = answering.parts + (try running.parts(endpoints))
        // Signals are trapped only now: until here a signal ends the process at once, which is safe at any moment, whereas a
        // start that hangs with its signals trapped could not be stopped.
        let signals = await UnixSignalsSequence(trapping: .sigterm, .sigint)
        StandardStream.output.print(try ReadyLine(Command.program, at: endpoints).bytes)
        var metadata: Logger.Metadata = [
            LogKey.version: "\(Version.current)", LogKey.publish: "\(endpoints.publish)",
            LogKey.reply: "\(endpoints.reply)",
        ]
        if let metrics = endpoints.metrics { metadata[LogKey.metrics] = "\(metrics)" }
        host.logger.notice("started", metadata: metadata)
        try await run(parts, until: signals, drainLimit: drainLimit, on: host)
        let status = running.outcome()
        host.logger.notice("stopped", metadata: [LogKey.exitCode: "\(status.rawValue)"])
        return (status, host.context.end)
    }

    private static func run(
        _ parts: [any Service], until signals: UnixSignalsSequence, drainLimit: Duration, on host: ServiceHost
    ) async throws {
        let (ended, hasEnded) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let (drain, drainBegan) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let watch = ShutdownObserver {
            host.health.report(.degraded, "the program is stopping", for: "stopping")
            drainBegan.yield()
        }
        // The failure of one part shuts the others down in order, as a signal does.
        let services: [any Service] = parts.map { ManagedService(service: $0) { hasEnded.yield() } } + [watch]
        let group = ServiceGroup(
            configuration: ServiceGroupConfiguration(
                services: services.map {
                    .init(
                        service: $0, successTerminationBehavior: .gracefullyShutdownGroup,
                        failureTerminationBehavior: .gracefullyShutdownGroup)
                }, logger: host.logger))

        let format = host.configuration.logStyle
        defer { ShutdownWatchdog.disarm() }
        try await withThrowingTaskGroup(of: Bool.self) { tasks in
            tasks.addTask {
                try await group.run()
                return true
            }
            tasks.addTask {
                for await _ in ended { await group.triggerGracefulShutdown() }
                return false
            }
            tasks.addTask {
                var isFirst = true
                for await signal in signals {
                    host.logger.notice("signal", metadata: [LogKey.signal: "\(signal)"])
                    guard isFirst else {
                        ShutdownWatchdog.arm(seconds: lastResort, saying: format, as: Command.program)
                        throw ServiceError(
                            .inputOutput, "a second signal cut the stop short; see the log for what is unfinished")
                    }
                    isFirst = false
                    await group.triggerGracefulShutdown()
                }
                return false
            }
            tasks.addTask {
                for await _ in drain {
                    let seconds = UInt32(drainLimit.components.seconds) + lastResort
                    ShutdownWatchdog.arm(seconds: seconds, saying: format, as: Command.program)
                    guard (try? await Task.sleep(for: drainLimit)) != nil else { break }
                    throw ServiceError(.inputOutput, "stopping took longer than \(drainLimit) and was cut short")
                }
                return false
            }
            while let isOver = try await tasks.next(), !isOver {}
            tasks.cancelAll()
        }
    }
}
