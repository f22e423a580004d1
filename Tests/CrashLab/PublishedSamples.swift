import Synchronization

/// All samples published so far: the oracle's knowledge. Any thread.
final class PublishedSamples: Sendable {
    private let streams = Mutex<[String: StreamHistory]>([:])

    /// Adds a batch.
    /// - Parameter time: its arrival on `MonotonicClock`; nil for a replayed batch.
    func add(_ batch: HeardBatch, at time: Int64?) {
        streams.withLock { streams in
            let name = "\(batch.device)/\(batch.stream)"
            streams[name, default: StreamHistory(device: batch.device, stream: batch.stream)].add(batch, at: time)
        }
    }

    /// The current histories of the streams that a session requested.
    func histories(matching patterns: [String]) -> [StreamHistory] {
        streams.withLock { streams in
            streams.values.filter { stream in
                patterns.contains { $0.hasSuffix("/") ? stream.name.hasPrefix($0) : stream.name == $0 }
            }
        }.sorted { $0.name < $1.name }
    }

    var histories: [StreamHistory] { streams.withLock { Array($0.values) } }

    /// The uptime of each stream's latest sample.
    var latestUptimes: [String: Double] {
        streams.withLock { streams in
            streams.compactMapValues { $0.epochs.last.flatMap { $0.next > 0 ? $0.uptime($0.next - 1) : nil } }
        }
    }

    /// The number of known samples, over all streams.
    var count: Int {
        streams.withLock { $0.values.reduce(0) { $0 + $1.epochs.reduce(0) { $0 + $1.next } } }
    }
}
