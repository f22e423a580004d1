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
    /// Those that the page has.
    var roles: [Role]
    var version = Version.current

    /// Asks all programs at the same time.
    static func now(of programs: ConsolePrograms, role: Role) async -> ConsoleState {
        async let streams = try? programs.publisher.send(StreamsList(), timeout: limit).streams
        async let recordings = runningRecordings(at: programs.recorder)
        let states = await withTaskGroup(of: (Int, ProgramState).self) { group in
            for (index, program) in programs.all.enumerated() {
                group.addTask {
                    let health = try? await program.client.send(ServiceHealth(), timeout: limit)
                    return (
                        index, ProgramState(name: program.name, endpoint: program.client.endpoint, health: health)
                    )
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        return ConsoleState(
            programs: states.sorted { $0.0 < $1.0 }.map(\.1), streams: await streams ?? [],
            recordings: await recordings, roles: Role.allCases.filter { $0 <= role })
    }

    private static func runningRecordings(at recorder: RequestClient) async -> [RecordingState] {
        guard let list = try? await recorder.send(RecordingList(), timeout: limit) else { return [] }
        var running: [RecordingState] = []
        for entry in list.recordings where entry.endDate == nil {
            guard var state = try? await recorder.send(RecordingStatus(session: entry.session), timeout: limit) else {
                continue
            }
            // A recorder of before 0.7 does not say it here.
            state.startDate = state.startDate ?? entry.startDate
            running.append(state)
        }
        return running
    }
}
