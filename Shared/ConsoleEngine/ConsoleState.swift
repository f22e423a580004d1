import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// The reply of `/api/state`: the programs, the streams, and the running recordings at this moment.
struct ConsoleState: Encodable {
    /// A program and its health; nil if it does not reply.
    struct ProgramState: Encodable {
        var name: String
        var endpoint: String
        var health: ServiceHealth.Reply?

        private enum CodingKeys: CodingKey { case name, endpoint, health }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(name, forKey: .name)
            try container.encode(endpoint, forKey: .endpoint)
            try container.encode(health, forKey: .health)
        }
    }

    /// How long a program may take to reply: one that is unreachable must not keep the others from the page.
    private static let limit = Duration.seconds(1)

    var programs: [ProgramState]
    var streams: [StreamDescription]
    var recordings: [RecordingState]
    /// The page's roles; nil if the page knows them.
    var roles: [Role]?
    var version = Version.current

    /// Queries all programs at the same time, and the recorder for its recordings afterwards: waiting for another program
    /// must not make them old.
    /// - Parameter sessions: returns the running sessions; nil to ask the recorder.
    static func now(
        of programs: ConsolePrograms, role: Role?, sessions: @Sendable () async -> [String]?
    ) async -> ConsoleState {
        async let listed = try? programs.publisher.send(StreamsList(), timeout: limit).streams
        let states = await states(of: programs)
        var state = ConsoleState(
            programs: states, streams: await listed ?? [], recordings: [],
            roles: role.map { role in Role.allCases.filter { $0 <= role } })
        // A recorder that does not reply would only make this take longer.
        if states.contains(where: { $0.name == Program.recorder.rawValue && $0.health != nil }) {
            state.recordings = await runningRecordings(await sessions(), of: programs)
        }
        return state
    }

    /// The health that each program reports.
    static func states(of programs: ConsolePrograms) async -> [ProgramState] {
        await withTaskGroup(of: (Int, ProgramState).self) { group in
            for (index, program) in programs.all.enumerated() {
                group.addTask {
                    let health = try? await program.client.send(ServiceHealth(), timeout: limit)
                    return (
                        index, ProgramState(name: program.name, endpoint: program.client.endpoint, health: health)
                    )
                }
            }
            return await group.reduce(into: [(Int, ProgramState)]()) { $0.append($1) }.sorted { $0.0 < $1.0 }.map(\.1)
        }
    }

    private static func runningRecordings(
        _ sessions: [String]?, of programs: ConsolePrograms
    ) async -> [RecordingState] {
        var names = sessions
        if names == nil { names = await programs.runningSessions(within: limit) }
        var running: [RecordingState] = []
        for name in names ?? [] {
            let status = RecordingStatus(session: name)
            do {
                running.append(try await programs.recorder.send(status, timeout: limit))
            } catch let error as ZeroMQError where error.code == .timedOut {
                // A recorder that hangs would cost `limit` for each session.
                break
            } catch {
                continue
            }
        }
        return running
    }
}
