package import Messages

extension SessionReport {
    /// The report of a session, from its record.
    ///
    /// - Parameters:
    ///   - record: with the current logs, including files that are still being written. A session that is not over ends at its
    ///     start.
    ///   - openBytes: the length of the files being written, by log.
    ///   - commitLatency: seconds from publication to commit.
    package init(
        _ record: SessionRecord, openBytes: [LogName: Int] = [:],
        commitLatency: Latency = Latency(count: 0, median: 0, p99: 0, maximum: 0)
    ) {
        self.init(
            session: record.session.text, task: record.task.isEmpty ? nil : record.task, status: record.status.rawValue,
            startDate: record.startDate, endDate: record.endDate ?? record.startDate,
            streams: record.logs.map { Stream($0, openBytes: openBytes[$0.name] ?? 0) },
            commitLatency: commitLatency, failures: record.failures,
            restarts: record.restarts.isEmpty ? nil : record.restarts,
            clocks: record.clocks.isEmpty ? nil : ClockOffset.offsets(of: record.clocks),
            annotations: record.annotations)
        fills = record.fills.map { fills in
            fills.map { fill in
                let files = record.logs.flatMap { $0.fills ?? [] }.filter { $0.fill == fill.number }
                return Fill(
                    date: fill.date, device: fill.device, source: fill.source.name, sha256: fill.source.sha256,
                    samples: files.reduce(0) { $0 + $1.samples })
            }
        }
    }
}

extension SessionReport.Stream {
    fileprivate init(_ log: SessionRecord.Log, openBytes: Int) {
        let lost = log.gaps.reduce(0) { $0.addingClamped($1.count) }
        let span = (log.lastUptime ?? .nan) - (log.firstUptime ?? .nan)
        let filled = log.filledSamples
        let rate = span > 0 && log.hasOneClock ? Double(log.counts.written + filled - 1) / span : nil
        self.init(
            stream: StreamName(device: log.device, stream: log.stream), log: log.name.text,
            files: log.files.map(\.name) + (log.file.map { [$0] } ?? []) + (log.fills ?? []).map(\.name),
            bytes: (log.fills ?? []).reduce(log.files.reduce(openBytes) { $0 + $1.bytes }) { $0 + $1.bytes },
            expected: log.counts.received.addingClamped(filled).addingClamped(lost),
            received: log.counts.received, recovered: log.counts.recovered, duplicates: log.counts.duplicates,
            lost: lost, paused: log.counts.paused, gaps: log.gaps, isEndKnown: log.isEndKnown,
            nominalRate: log.onlyRate, actualRate: rate, firstUptime: log.firstUptime, lastUptime: log.lastUptime,
            jitter: log.onlyRate == nil ? nil : log.intervals?.jitter, longestSilence: log.intervals?.longest,
            epochs: log.epochs.map { SessionReport.EpochSpan(epoch: $0.epoch, from: $0.from, next: $0.next) },
            types: log.types.map { types in
                Dictionary(zip(log.fields, types)) { first, _ in first }
            }, origin: log.origin)
        if log.fills != nil { self.filled = filled }
        let removed = log.files.filter { $0.removed != nil }
        if removed.isEmpty { return }
        removedFiles = removed.count
        removedSamples = removed.reduce(0) { $0 + $1.samples }
    }
}

extension SessionRecord.Log {
    /// Whether the uptimes of all samples are of the same boot of one machine. Others can't be compared.
    fileprivate var hasOneClock: Bool {
        let clocks = epochs.filter { $0.next > $0.from }.map(\.clock)
        return zip(clocks, clocks.dropFirst()).allSatisfy { $0.isOfSameBoot(as: $1) }
    }
}

extension ClockReading {
    /// From this difference on, in seconds, the dates and the uptimes of two readings disagree.
    private static let largestDrift = 1.0

    /// Whether the same time passed between both readings by date and by uptime. If the date was set between them, it
    /// did not.
    fileprivate func isOfSameBoot(as other: ClockReading) -> Bool {
        var passed = other.uptime - uptime
        // Uptimes leave out the time for which the machine slept.
        if let elapsed, let end = other.elapsed { passed = end - elapsed }
        return (other.date.seconds(since: date) - passed).magnitude < Self.largestDrift
    }
}

extension ClockOffset {
    /// The offset of each publisher's clock, in the order of the first comparisons.
    static func offsets(of comparisons: [ClockComparison]) -> [ClockOffset] {
        let groups = Dictionary(grouping: comparisons.enumerated(), by: \.element.endpoint)
        return groups.sorted { $0.value[0].offset < $1.value[0].offset }.map { endpoint, own in
            let (first, last) = (own[0].element, own[own.count - 1].element)
            let seconds = last.date.seconds(since: first.date)
            return ClockOffset(
                endpoint: endpoint, first: first.offset, last: last.offset,
                uncertainty: max(first.roundTrip, last.roundTrip) / 2,
                drift: seconds > 0 ? (last.offset - first.offset) / seconds : nil, comparisons: own.count)
        }
    }
}
