import TestSupport

/// The number of batches that became durable within each latency since the recorder's start, from its metrics. The difference of
/// two counts covers only the measured seconds.
struct CommitCounts {
    private static let metric = "holdfast_recorder_commit_latency_seconds_bucket{le=\""

    /// Upper bounds in seconds, in order, each with the number of batches within it.
    private var buckets: [(bound: Double, count: Int)] = []

    /// Reads the metrics of a recorder on this machine.
    /// - Parameter url: the URL from `service.describe`.
    init(at url: String) async throws {
        guard let port = url.split(separator: ":").last.flatMap({ UInt16($0.prefix(while: \.isNumber)) }) else {
            throw Child.Failure(description: "\(url) has no port")
        }
        let page = try await WebClient.answer("GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n", port: port) ?? ""
        for line in page.split(separator: "\n") where line.hasPrefix(Self.metric) {
            let parts = line.dropFirst(Self.metric.count).split(separator: "\"} ")
            guard parts.count == 2, let count = Double(parts[1]) else { continue }
            buckets.append((Double(parts[0]) ?? .infinity, Int(count)))
        }
        guard !buckets.isEmpty else { throw Child.Failure(description: "\(url) has no latencies") }
    }

    /// The latency in seconds within which a share of the batches since an earlier count became durable, interpolated between two
    /// bounds.
    func quantile(_ share: Double, since earlier: CommitCounts) -> Double {
        let counts = zip(buckets, earlier.buckets).map { (bound: $0.bound, count: Double($0.count - $1.count)) }
        let wanted = (counts.last?.count ?? 0) * share
        var below = (bound: 0.0, count: 0.0)
        for bucket in counts {
            if bucket.count >= wanted, bucket.count > below.count, bucket.bound.isFinite {
                let part = (wanted - below.count) / (bucket.count - below.count)
                return below.bound + part * (bucket.bound - below.bound)
            }
            below = bucket.bound.isFinite ? bucket : below
        }
        return below.bound
    }
}
