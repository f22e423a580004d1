import MessageBus
package import Messages
package import Recording
import ServiceKit

/// How far the recorder is behind, and how long publishers still have what it misses.
extension Recordings {
    /// Nanoseconds. So long a recovery waits at most until the recorder has caught up: what it misses is being forgotten
    /// meanwhile.
    package static let longestWait: Int64 = 5_000_000_000
    /// Seconds of lag, beyond which recoveries wait.
    private static let recoveryLag = 1.0
    /// Health warns when samples will be forgotten within so many seconds.
    private static let shortRetention = 60.0

    /// Seconds by which a publisher's clock is known to be behind: its batches seem to be late by that.
    var clockAllowance: Double { max(0, -(wrongClocks.values.min() ?? 0)) }

    /// Whether live samples need everything that the recorder can do.
    var isBehind: Bool { lag.seconds > Self.recoveryLag || isBlocked }

    /// Whether a session's missing samples must not be asked for yet: what arrives live comes first.
    package func isTooBusy(toRecover identifier: SessionIdentifier) -> Bool {
        isBehind && sessions[identifier]?.status == .running
    }

    /// Has health tell of a recorder that is behind, and of samples that are about to be forgotten.
    func tellOfLag(at now: Moment) {
        let behind =
            "the recorder is \(Int(lag.seconds.rounded())) s behind its publishers, more arrives than it can store: "
            + "give it a faster disk or processor, record fewer streams, or divide them with --shard"
        emit(lag.isLarge ? .degraded(behind, for: "behind") : .clear("behind"))
        let short = shortage(at: now).flatMap { $0.left < min(Self.shortRetention, $0.retention / 2) ? $0 : nil }
        let forgetting = short.map { stream, left, _ in
            "the publisher of \(stream) keeps samples that are missing here for another \(Int(max(0, left))) s: restore "
                + "the connection to it, or give the recorder less to do; a longer --retention of the publisher gives "
                + "more time"
        }
        emit(forgetting.map { .degraded($0, for: "retention") } ?? .clear("retention"))
    }

    /// Seconds for which the oldest missing sample of streams that are being recovered has been missing.
    package func recoveryLag(at now: Moment) -> Double { missing(at: now).map(\.age).max() ?? 0 }

    /// The stream whose missing samples are the first to be forgotten by their publisher, if that is known: the seconds for
    /// which it still has them, and those for which it keeps samples.
    package func shortage(at now: Moment) -> (stream: StreamName, left: Double, retention: Double)? {
        missing(at: now).compactMap { missing in missing.retention.map { (missing.stream, $0 - missing.age, $0) } }
            .min { $0.1 < $1.1 }
    }

    /// Streams that are being recovered, with the seconds since the first missing sample was taken, and the seconds for which
    /// the publisher keeps samples, if that is known.
    private func missing(at now: Moment) -> [(stream: StreamName, age: Double, retention: Double?)] {
        sessions.values.flatMap { session in
            session.ordered.compactMap { stream in
                guard let since = stream.recoveringSince, let recovery = stream.intake.recovery else { return nil }
                // The first missing sample was taken right after the last that is written, or, if it is not known when
                // that was, not after the recovery began.
                let recovering = Double(now.monotonic - since) / 1e9
                let endpoint = stream.replayEndpoint(of: recovery.epoch)
                guard let source = session.watch.source(of: stream.name, at: endpoint),
                    source.description.epoch == recovery.epoch
                else { return (stream.name, recovering, nil) }
                let age = stream.log.record.lastUptime.map {
                    source.description.clock.uptime + Double(now.monotonic - source.heardAt) / 1e9 - $0
                }
                return (stream.name, age.flatMap { $0 >= 0 ? $0 : nil } ?? recovering, source.description.retention)
            }
        }
    }
}
