import MessageBus
import Messages
import ServiceKit
import ZeroMQ

/// What `/api/state` answers: the programs, the streams, and the recordings that run, at this moment.
struct ConsoleState: Encodable {
    /// A program, and how it says that it is; nil if it does not answer.
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

    /// How long a program may take to say how it is: who is away must not keep the page from what is there.
    private static let limit = Duration.seconds(1)

    var programs: [ProgramState]
    var streams: [StreamDescription]
    var recordings: [RecordingState]
    /// Those that the page has; nil if it knows.
    var roles: [Role]?
    var version = Version.current

    /// Asks all programs at the same time.
    /// - Parameter sessions: those that run; nil if the recorder is to be asked for them.
    static func now(of programs: ConsolePrograms, sessions: [String]?, role: Role?) async -> ConsoleState {
        async let streams = try? programs.publisher.send(StreamsList(), timeout: limit).streams
        async let recordings = runningRecordings(sessions, of: programs)
        let states = await states(of: programs)
        return ConsoleState(
            programs: states, streams: await streams ?? [],
            recordings: await recordings, roles: role.map { role in Role.allCases.filter { $0 <= role } })
    }

    /// How each program says that it is.
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
                // One that hangs would cost `limit` for each session.
                break
            } catch {
                continue
            }
        }
        return running
    }
}
