import Logging
package import Messages
package import SampleSources
import ServiceKit

/// Messages from datagrams and MQTT brokers. Their senders expect no answer, so a refused message is never sent again.
extension Publication {
    /// Bytes of datagrams in reorder queues; above this, further messages are refused.
    private static let maximumWaiting = 16 << 20

    /// Datagrams dropped by the kernel because they were not read fast enough, as far as the kernel reports them.
    package var datagramsDropped: Int { pushes.datagrams.dropped }

    /// Takes the messages of a datagram.
    /// - Parameter request: the number of its first message; the other messages have the numbers after it.
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
                pushes.datagrams.note("too many datagrams are waiting for earlier ones", of: datagram.source, 1)
                continue
            }
            pushes.datagrams.add(request + index, of: datagram.source, datagram.size / datagram.messages.count)
            push(message, as: request + index, at: now)
        }
    }

    /// Counts messages that cannot be read and whose sender expects no answer.
    package func noteUnreadable(_ error: PublisherError, of source: String, _ count: Int = 1) {
        pushes.refused += count
        pushes.datagrams.note(error.message, of: source, count)
    }

    /// Notes a refused message whose sender expects no answer.
    package func noteNotTaken(_ sentence: String, of source: String) { pushes.datagrams.note(sentence, of: source, 1) }

    /// Notes datagrams dropped by the kernel.
    /// - Parameter count: the total since the socket was opened.
    package func noteDroppedDatagrams(_ count: Int) { pushes.datagrams.dropped = max(pushes.datagrams.dropped, count) }

    /// Reports the messages refused since the last report.
    func reportDatagrams() {
        if let (count, problem) = pushes.datagrams.takeProblem() {
            emit(
                .report(
                    .degraded, "\(count) messages were not taken, most recently \(problem)", for: "messages",
                    lasting: Self.failureLife))
            emit(.log(.warning, "messages not taken", ["count": "\(count)", LogKey.error: "\(problem)"]))
        }
        guard pushes.datagrams.dropped > pushes.datagrams.reportedDropped else { return }
        let count = pushes.datagrams.dropped - pushes.datagrams.reportedDropped
        pushes.datagrams.reportedDropped = pushes.datagrams.dropped
        emit(
            .report(
                .degraded,
                "the system dropped \(pushes.datagrams.dropped) datagrams that came faster than they were read: use fewer devices or "
                    + "larger datagrams", for: "dropped datagrams", lasting: Self.failureLife))
        emit(.log(.warning, "datagrams dropped by the system", ["count": "\(count)"]))
    }
}

extension PushMessage {
    /// The device name in the message.
    var device: String {
        switch self {
        case .numbered(let samples): samples.name.device
        case .sensorLogger(let message): message.device
        case .unnumbered(let samples): samples.device
        }
    }
}
