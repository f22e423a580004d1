import MessageBus
import Messages
import RecorderCore
import Recording
import ServiceKit
import ZeroMQ

/// Asks log-manager how logs are to be written. A recorder can record without the answer, so it does not wait long.
struct LogManagerClient: Sendable {
    /// Most requests at the same time, each on its own socket.
    private static let maximumSockets = 8

    let peers: Peers
    let endpoint: Endpoint
    /// Time limit for all answers together.
    let limit: TimeSpan
    let clock: @Sendable () -> Moment

    func configurations(of names: [LogName]) async -> LogConfigurations.Answers {
        let deadline = clock().monotonic + limit.nanoseconds
        return await withTaskGroup(of: LogConfigurations.Answers.self) { group in
            for first in 0..<min(Self.maximumSockets, names.count) {
                let share = stride(from: first, to: names.count, by: Self.maximumSockets).map { names[$0] }
                group.addTask { await self.ask(share, until: deadline) }
            }
            return await group.reduce(into: LogConfigurations.Answers()) { $0.add($1) }
        }
    }

    /// Asks about one log after the other.
    private func ask(_ names: [LogName], until deadline: Int64) async -> LogConfigurations.Answers {
        var answers = LogConfigurations.Answers()
        do {
            let client = try peers.client(of: .logManager, at: endpoint)
            for name in names {
                let limit = Duration.nanoseconds(max(1, deadline - clock().monotonic))
                do {
                    let configuration = try await client.send(
                        LogsGet(name: name.text, orDefaults: true), timeout: limit)
                    answers.configurations.updateValue(configuration, forKey: name)
                } catch let error where error is RequestError || error is MessageError {
                    answers.configurations.updateValue(nil, forKey: name)
                }
            }
        } catch {
            answers.isAway = true
        }
        return answers
    }
}
