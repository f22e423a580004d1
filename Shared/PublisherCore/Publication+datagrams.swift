import Logging
package import Messages
package import SampleSources
import ServiceKit

/// What comes in datagrams, and from brokers. Nobody waits for an answer, so nobody sends again what was refused.
extension Publication {
    /// Bytes of datagrams that wait for those before them; further ones are refused.
    private static let maximumWaiting = 16 << 20

    /// Datagrams that the system threw away because they were not read fast enough, as far as it says.
    package var datagramsDropped: Int { pushes.datagrams.dropped }

    /// Takes what a datagram brought.
    /// - Parameter request: the number of its first message; the others have those that follow.
    package func take(_ datagram: Datagram, as request: Int, at now: Moment) {
        if let problem = datagram.problem { noteUnreadable(problem, of: datagram.source, datagram.unreadable) }
        for (index, message) in datagram.messages.enumerated() {
            guard pushes.datagrams.sources.admits(message.device, from: datagram.source, at: now.monotonic) else {
                pushes.refused += 1
                pushes.datagrams.note(
                    "one address may speak for \(DatagramSources.maximumDevices) devices, and there may be "
                        + "\(DatagramSources.maximumAddresses) addresses", of: datagram.source, 1)
                continue
            }
            guard pushes.datagrams.waitingBytes <= Self.maximumWaiting else {
                pushes.refused += 1
                pushes.datagrams.note("too many datagrams wait for those before them", of: datagram.source, 1)
                continue
            }
            pushes.datagrams.add(request + index, of: datagram.source, datagram.size / datagram.messages.count)
            push(message, as: request + index, at: now)
        }
    }

    /// Notes messages of which nobody waits for an answer, and that can't be read.
    package func noteUnreadable(_ error: PublisherError, of source: String, _ count: Int = 1) {
        pushes.refused += count
        pushes.datagrams.note(error.message, of: source, count)
    }

    /// Notes that a message was refused whose sender waits for no answer.
    package func noteNotTaken(_ sentence: String, of source: String) { pushes.datagrams.note(sentence, of: source, 1) }

    /// Notes that the system threw datagrams away.
    /// - Parameter count: all of them, since the socket was opened.
    package func noteDroppedDatagrams(_ count: Int) { pushes.datagrams.dropped = max(pushes.datagrams.dropped, count) }

    /// Reports what was not taken since the last time.
    func reportDatagrams() {
        if let (count, problem) = pushes.datagrams.takeProblem() {
            emit(
                .report(
                    .degraded, "\(count) messages were not taken, lately \(problem)", for: "messages",
                    lasting: Self.failureLife))
            emit(.log(.warning, "messages not taken", ["count": "\(count)", LogKey.error: "\(problem)"]))
        }
        guard pushes.datagrams.dropped > pushes.datagrams.reportedDropped else { return }
        let count = pushes.datagrams.dropped - pushes.datagrams.reportedDropped
        pushes.datagrams.reportedDropped = pushes.datagrams.dropped
        emit(
            .report(
                .degraded,
                "the system threw away \(pushes.datagrams.dropped) datagrams that came faster than they were read: fewer devices or "
                    + "larger datagrams help", for: "dropped datagrams", lasting: Self.failureLife))
        emit(.log(.warning, "datagrams dropped by the system", ["count": "\(count)"]))
    }
}

extension PushMessage {
    /// What the device calls itself.
    var device: String {
        switch self {
        case .numbered(let samples): samples.name.device
        case .sensorLogger(let message): message.device
        case .unnumbered(let samples): samples.device
        }
    }
}
