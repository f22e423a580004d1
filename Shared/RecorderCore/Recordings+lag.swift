import MessageBus
package import Messages
package import Recording
import ServiceKit

/// How far the recorder is behind, and how long publishers will keep the samples that it misses.
extension Recordings {
    /// Nanoseconds that a recovery waits at most for the recorder to catch up: meanwhile, the publisher may discard the missing
    /// samples.
    package static let longestWait: Int64 = 5_000_000_000
    /// Seconds of lag beyond which recoveries wait.
    private static let recoveryLag = 1.0
    /// Health warns if missing samples will be discarded within this many seconds.
    private static let shortRetention = 60.0

    /// Seconds by which a publisher's clock is known to be behind: its batches seem late by this much.
    var clockAllowance: Double { max(0, -(wrongClocks.values.min() ?? 0)) }

    /// Whether live samples need all of the recorder's capacity.
    var isBehind: Bool { lag.seconds > Self.recoveryLag || isBlocked }

    /// Whether a session's missing samples must not be requested yet: live samples come first.
    package func isTooBusy(toRecover identifier: SessionIdentifier) -> Bool {
        isBehind && sessions[identifier]?.status == .running
    }

    /// Reports to health that the recorder is behind, and that missing samples are about to be discarded.
    func tellOfLag(at now: Moment) {
        let behind =
            "the recorder is \(Int(lag.seconds.rounded())) s behind its publishers, because more arrives than it can store: "
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

    /// The age in seconds of the oldest missing sample of all streams that are being recovered.
    package func recoveryLag(at now: Moment) -> Double { missing(at: now).map(\.age).max() ?? 0 }

    /// The stream whose missing samples will be discarded first by their publisher, if that is known; the seconds for which the
    /// publisher still has them, and for which it keeps samples.
    package func shortage(at now: Moment) -> (stream: StreamName, left: Double, retention: Double)? {
        missing(at: now).compactMap { missing in missing.retention.map { (missing.stream, $0 - missing.age, $0) } }
            .min { $0.1 < $1.1 }
    }

    /// Streams that are being recovered, with the seconds since the first missing sample was taken, and the seconds for which the
    /// publisher keeps samples, if known.
    private func missing(at now: Moment) -> [(stream: StreamName, age: Double, retention: Double?)] {
        sessions.values.flatMap { session in
            session.ordered.compactMap { stream in
                guard let since = stream.recoveringSince, let recovery = stream.intake.recovery else { return nil }
                // The first missing sample was taken right after the last one written. If that time is unknown, it was taken
                // before the recovery began.
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
