import ConsoleCore
import MessageBus
import Messages
import ServiceKit

/// The reply of `/api/system`: health of the programs, the disk and its thresholds, queues, clocks, and connected viewers.
struct SystemState: Encodable {
    struct Disk: Encodable {
        var freeBytes: Int
    }

    /// The length of a queue in a program.
    struct Queue: Encodable {
        var program: String
        var queue: String
        var value: Double
    }

    /// By how much a program's clock is ahead of the console's.
    struct Clock: Encodable {
        var program: String
        var offsetSeconds: Double
        /// The offset is uncertain by half of this.
        var roundTripSeconds: Double
    }

    /// Metrics that measure queues.
    private static let queues = [
        "behindSeconds", "backlogBytes", "heldBytes", "devicesCatchingUp", "waitingRemovals", "queuedSessions",
    ]
    /// How long a program may take to reply.
    private static let limit = Duration.seconds(1)
    private static let roundTrips = 3

    var date: WallTime
    var programs: [ConsoleState.ProgramState]
    /// The disk of the console's data directory; nil if it can't be read.
    var disk: Disk?
    /// From log-manager; nil if it does not reply.
    var usage: LogsUsage.Reply?
    var thresholds: LogThresholds?
    var queues: [Queue]
    var clocks: [Clock]
    var connected: [ConnectedViewer]

    /// Queries all programs at the same time.
    static func now(
        of programs: ConsolePrograms, freeBytes: Int?, connected: [ConnectedViewer],
        by clock: @escaping @Sendable () async -> Moment
    ) async -> SystemState {
        async let usage = try? programs.logManager.send(LogsUsage(logs: true), timeout: limit)
        async let thresholds = try? programs.logManager.send(LogsThresholds(), timeout: limit)
        async let clocks = clocks(of: programs, by: clock)
        let states = await ConsoleState.states(of: programs)
        let waiting = states.flatMap { state in
            queues.compactMap { name in
                state.health?.measures?[name].map { Queue(program: state.name, queue: name, value: $0) }
            }
        }
        let pages = Queue(
            program: Program.console.rawValue, queue: "waitingBytes",
            value: Double(connected.reduce(0) { $0 + $1.waitingBytes }))
        return SystemState(
            date: await clock().date, programs: states, disk: freeBytes.map { Disk(freeBytes: $0) },
            usage: await usage, thresholds: await thresholds, queues: waiting + [pages], clocks: await clocks,
            connected: connected)
    }

    private static func clocks(
        of programs: ConsolePrograms, by clock: @escaping @Sendable () async -> Moment
    ) async -> [Clock] {
        await withTaskGroup(of: (Int, Clock?).self) { group in
            for (index, program) in programs.all.enumerated() {
                group.addTask {
                    var best: Clock?
                    for _ in 0..<roundTrips {
                        let start = await clock()
                        guard let reply = try? await program.client.send(ServiceClock(), timeout: limit) else { break }
                        let roundTrip = await clock().monotonic - start.monotonic
                        let offset = reply.clock.date.seconds(since: start.date.adding(roundTrip / 2))
                        let seconds = Double(roundTrip) / 1e9
                        if best.map({ seconds < $0.roundTripSeconds }) ?? true {
                            best = Clock(program: program.name, offsetSeconds: offset, roundTripSeconds: seconds)
                        }
                    }
                    return (index, best)
                }
            }
            return await group.reduce(into: [(Int, Clock?)]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.compactMap(\.1)
        }
    }
}

/// A page or another viewer that receives events.
struct ConnectedViewer: Encodable {
    var kind: String
    var address: String
    var role: Role
    var sinceDate: WallTime
    var waitingBytes = 0
    var samplesLeftOut = 0
}
