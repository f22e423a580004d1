import Files
import Messages
import Recording
package import SystemPackage

/// An app's export of a phone's own recording, from which a session's gaps are filled.
///
/// Samples are matched by device, sensor and time.
package struct PhoneExport {
    private let source: FilePath

    /// - Parameter source: a zip, a JSON file, or a directory.
    package init(_ source: FilePath) { self.source = source }

    /// Finds the samples for the gaps of a device.
    /// - Parameter path: the session's path, for messages.
    /// - Throws: `invalidParameter` if there are none.
    func findings(
        for fillable: FillableSession, _ options: SessionFill.Options, _ path: FilePath, calls: FileCalls
    ) throws(RecordingError) -> FillFindings {
        let record = fillable.record
        var findings = FillFindings()
        let measured = try measure()
        let export = try reading(for: path) { () throws(RecordingError) in try FillExport(try openSource()) }
        let device = try device(options.device, of: fillable, export)
        if let known = (record.fills ?? []).first(where: {
            $0.source.sha256 == measured.sha256 && $0.device == device
        }) {
            findings.formerFill = known
            return findings
        }
        let plans = try reading(for: path) { () throws(RecordingError) in
            try self.plans(device, fillable, export)
        }
        findings.streams = plans.streams.map(\.outcome)
        guard findings.streams.contains(where: { $0.samples > 0 }) else {
            let notes = Set(findings.streams.flatMap(\.notes)).sorted().joined(separator: "; ")
            throw fillable.refusal(
                "none of its samples belong in a gap of \(device)\(notes.isEmpty ? "" : ": \(notes)")",
                "Export the recording that was made during the session, on the same phone.")
        }
        let offsets = plans.offsets
        let streams = plans.streams.filter { $0.outcome.samples > 0 || $0.outcome.gaps > 0 }.map { plan in
            let (first, last) = Self.ends(plan, offsets)
            return FillAddition.Stream(
                index: plan.stream.index,
                makeFile: { number, directory throws(RecordingError) in
                    try Self.write(plan, offsets, number, record, in: directory, calls)
                }, firstUptime: first, lastUptime: last)
        }
        findings.additions = [FillAddition(device: device, source: measured, offsets: offsets, streams: streams)]
        return findings
    }

    /// Runs code that reads the export, and adds the export's path to errors.
    private func reading<Value>(
        for path: FilePath, _ body: () throws(RecordingError) -> Value
    ) throws(RecordingError) -> Value {
        do throws(RecordingError) {
            return try body()
        } catch {
            guard error.path == nil else { throw error }
            throw RecordingError(
                error.code, action: "fill \(path) from", path: source, errno: error.errno, reason: error.reason,
                advice: error.advice)
        }
    }

    // MARK: The export

    private var isDirectory: Bool { Directory(source).exists }

    private func openSource() throws(RecordingError) -> SourceFile {
        isDirectory ? try SourceFile(unpacked: source) : try SourceFile(source)
    }

    private func measure() throws(RecordingError) -> SessionRecord.Source {
        let name = try FillableSession.absolute(source).lastComponent?.string ?? ""
        guard isDirectory else {
            let measured = try FinishedFile.measure(source)
            return SessionRecord.Source(name: name, bytes: measured.bytes, sha256: measured.sha256)
        }
        var lines = ""
        var bytes = 0
        for file in try Directory(source).names().sorted() where !file.hasPrefix(".") {
            guard (try? source.appending(file).stat().type) == .regular else { continue }
            let measured = try FinishedFile.measure(source.appending(file))
            bytes += measured.bytes
            lines += "\(measured.sha256)  \(file)\n"
        }
        return SessionRecord.Source(name: name, bytes: bytes, sha256: FinishedFile.sha256(of: Array(lines.utf8)))
    }

    private func device(
        _ asked: String?, of fillable: FillableSession, _ export: FillExport
    ) throws(RecordingError) -> String {
        if let asked {
            try fillable.check(device: asked)
            return asked
        }
        if let said = export.device, fillable.record.logs.contains(where: { $0.device == said }) { return said }
        let withGaps = fillable.devicesWithGaps
        guard withGaps.count == 1 else {
            throw fillable.refusal(
                "several devices have gaps: \(withGaps.joined(separator: ", "))",
                "Choose with --device the one that made the export.")
        }
        return withGaps[0]
    }

    // MARK: Plans

    /// A stream, and the plan for filling it.
    private struct StreamPlan {
        let stream: FillStream
        let place: FillExport.Place?
        var outcome: SessionFill.Stream
        /// The export's rows around the stream's gaps, in the order of time.
        var rows: [Row] = []
        /// Each gap with its rows, without those of pauses.
        var holes: [(hole: GapHole, plan: HolePlan, rows: [Row])] = []
        /// The times of the stream's first and last sample in the export.
        var first = Int64.max
        var last = Int64.min

        init(_ stream: FillStream, _ place: FillExport.Place?) {
            self.stream = stream
            self.place = place
            outcome = SessionFill.Stream(stream.log)
        }
    }

    fileprivate struct Row {
        /// Nanoseconds since 1970 on the phone's clock.
        var time: Int64
        var values: SampleValues
        var key: SampleKey
    }

    private struct Plans {
        var streams: [StreamPlan]
        var offsets: [String: Int64] = [:]
    }

    /// The most rows to hold: those in the gaps of all streams.
    private static let maximumRows = 4_000_000
    /// How far around a gap the export is searched for the samples next to it, in nanoseconds.
    private static let margin: Int64 = 200_000_000

    private func plans(
        _ device: String, _ fillable: FillableSession, _ export: FillExport
    ) throws(RecordingError) -> Plans {
        let record = fillable.record
        var plans = Plans(streams: [])
        for (index, log) in record.logs.enumerated() where log.device == device && !log.gaps.isEmpty {
            let stream = try FillStream(index, of: record, in: fillable.session)
            let place = export.place(of: stream)
            let missing = place.map { export.missingFields(of: stream, in: $0) } ?? []
            var plan = StreamPlan(stream, missing.isEmpty ? place : nil)
            if place == nil {
                plan.outcome.notes.append("the export has no table for it")
            } else if !missing.isEmpty {
                plan.outcome.notes.append("the export has no column \(missing.joined(separator: ", ")) for it")
            }
            plans.streams.append(plan)
        }
        guard plans.streams.contains(where: { $0.place != nil }) else {
            throw fillable.refusal(
                plans.streams.isEmpty
                    ? "the device \(device) has no gaps"
                    : "the export has none of the streams of \(device) with gaps, which are "
                        + plans.streams.map(\.stream.log.stream).joined(separator: ", "),
                "It has \(export.streams.joined(separator: ", ")). Choose with --device the device that made it.")
        }
        plans.offsets = try offsets(&plans, record, export)
        try collect(&plans, export)
        for index in plans.streams.indices { decide(&plans.streams[index], plans.offsets, record) }
        return plans
    }

    /// What to read of the export, and the index of each stream that is read.
    /// - Parameter times: returns nil if nothing of a stream is needed.
    private static func wanted(
        _ plans: [StreamPlan], at times: (StreamPlan, FillExport.Place) -> TimeRanges?
    ) -> (order: [Int], wanted: [FillExport.Wanted]) {
        var order: [Int] = []
        var wanted: [FillExport.Wanted] = []
        for (index, plan) in plans.enumerated() {
            guard let place = plan.place, let times = times(plan, place) else { continue }
            order.append(index)
            wanted.append(FillExport.Wanted(stream: plan.stream, place: place, times: times))
        }
        return (order, wanted)
    }

    /// Finds the offset from the export's times to uptimes, for each epoch.
    private func offsets(
        _ plans: inout Plans, _ record: SessionRecord, _ export: FillExport
    ) throws(RecordingError) -> [String: Int64] {
        var searches: [String: OffsetSearch] = [:]
        var expected: [String: Int64] = [:]
        for (index, plan) in plans.streams.enumerated() where plan.place != nil {
            for epoch in plan.stream.log.epochs where expected[epoch.epoch] == nil {
                let uptime = (epoch.clock.uptime * 1e9).rounded()
                guard uptime.magnitude < 0x1p62 else { continue }
                expected[epoch.epoch] = Int64(uptime) &- epoch.clock.date.nanosecondsSince1970
            }
            for (epoch, anchors) in plan.stream.anchors {
                guard let expected = expected[epoch] else { continue }
                for anchor in anchors {
                    searches[epoch, default: OffsetSearch(expected: expected)].add(
                        anchor.uptime, anchor.key, of: index)
                }
            }
        }
        let (order, wanted) = Self.wanted(plans.streams) { plan, place in
            // Sums are held in memory, so limit their times.
            guard case .sum = place else { return TimeRanges.all }
            return TimeRanges(
                plan.stream.anchors.flatMap { epoch, anchors in
                    anchors.map { anchor in
                        let time = anchor.uptime &- (expected[epoch] ?? 0)
                        return (time - OffsetSearch.nearby)...(time + OffsetSearch.nearby)
                    }
                })
        }
        try export.read(wanted) { stream, time, _, key throws(RecordingError) in
            let index = order[stream]
            plans.streams[index].first = min(plans.streams[index].first, time)
            plans.streams[index].last = max(plans.streams[index].last, time)
            for epoch in searches.keys { searches[epoch]?.take(time, key, of: index) }
        }
        var offsets: [String: Int64] = [:]
        for (epoch, search) in searches {
            switch search.outcome {
            case .found(let offset): offsets[epoch] = offset
            case .none: break
            case .ambiguous:
                for index in order {
                    plans.streams[index].outcome.notes.append(
                        "the samples around the gaps are found in several places of the export")
                }
            }
        }
        return offsets
    }

    /// Reads the export's rows in and next to the gaps.
    private func collect(_ plans: inout Plans, _ export: FillExport) throws(RecordingError) {
        let offsets = plans.offsets
        let (order, wanted) = Self.wanted(plans.streams) { plan, _ in
            let ranges = plan.stream.holes.compactMap { hole in window(of: Self.placed(hole, offsets), offsets) }
            return ranges.isEmpty ? nil : TimeRanges(ranges)
        }
        var count = 0
        try export.read(wanted) { stream, time, values, key throws(RecordingError) in
            count += 1
            guard count <= Self.maximumRows else {
                throw .notFilled(
                    "its gaps have more than \(Self.maximumRows) samples",
                    "Leave tables out of the export, and fill stream by stream.")
            }
            let index = order[stream]
            plans.streams[index].rows.append(Row(time: time, values: values, key: key))
            // Of a sum, only times near the recorded samples are known until now.
            plans.streams[index].first = min(plans.streams[index].first, time)
            plans.streams[index].last = max(plans.streams[index].last, time)
        }
        for index in order { plans.streams[index].rows = Self.sorted(plans.streams[index].rows) }
    }

    /// Sorts rows by time, and removes duplicates.
    private static func sorted(_ rows: [Row]) -> [Row] {
        let isSorted = zip(rows, rows.dropFirst()).allSatisfy { $0.time <= $1.time }
        // Rows with the same time stay in the order of the file.
        let ordered =
            isSorted
            ? rows
            : rows.enumerated().sorted { ($0.element.time, $0.offset) < ($1.element.time, $1.offset) }.map(\.element)
        var result: [Row] = []
        result.reserveCapacity(ordered.count)
        for row in ordered where result.last.map({ $0.time != row.time || $0.key != row.key }) ?? true {
            result.append(row)
        }
        return result
    }

    /// A hole with the samples of other epochs next to it at their times in its own epoch. Each run of a publisher
    /// compares the phone's clock with its own anew, and may have another date.
    private static func placed(_ hole: GapHole, _ offsets: [String: Int64]) -> GapHole {
        guard let offset = offsets[hole.epoch], let origin = hole.origin else { return hole }
        func timestamp(of neighbour: GapHole.Neighbour?) -> Int64? {
            guard let neighbour, let other = offsets[neighbour.epoch] else { return nil }
            return neighbour.uptime &- other &+ offset &- origin
        }
        var placed = hole
        if let time = timestamp(of: hole.formerEpoch) {
            placed.formerEpoch?.timestamp = time
            placed.earliest = time
        }
        if let time = timestamp(of: hole.nextEpoch) {
            placed.nextEpoch?.timestamp = time
            placed.latest = time
        }
        return placed
    }

    /// The time of a hole on the phone's clock, with a margin for the samples next to it.
    private func window(of hole: GapHole, _ offsets: [String: Int64]) -> ClosedRange<Int64>? {
        guard let offset = offsets[hole.epoch], let origin = hole.origin else { return nil }
        let first = (hole.before?.uptime ?? hole.earliest.addingClamped(origin)).subtractingClamped(offset)
        let last = (hole.after?.uptime ?? hole.latest.addingClamped(origin)).subtractingClamped(offset)
        guard first <= last else { return nil }
        return first.subtractingClamped(Self.margin)...last.addingClamped(Self.margin)
    }

    private func decide(_ plan: inout StreamPlan, _ offsets: [String: Int64], _ record: SessionRecord) {
        guard plan.place != nil else { return }
        let timeline = FillWriter.timeline(of: plan.stream.log, record)
        for recorded in plan.stream.holes {
            let hole = Self.placed(recorded, offsets)
            guard let offset = offsets[hole.epoch], let window = window(of: hole, offsets), let origin = hole.origin
            else {
                if plan.outcome.notes.isEmpty { plan.outcome.notes.append(hole.problem ?? "the times do not overlap") }
                continue
            }
            let start = plan.rows.partition(from: window.lowerBound)
            let end = plan.rows.partition(from: window.upperBound.addingClamped(1))
            let rows = plan.rows[start..<end].map { row in
                let uptime = row.time + offset
                return HolePlan.Row(
                    uptime: uptime, key: row.key, isPaused: timeline.span(at: uptime - origin).state.isPaused)
            }
            let log = plan.stream.log
            let rate = log.rate(of: log.epoch(hole.epoch))
            let decided = HolePlan(
                hole, rows: rows, from: plan.first.addingClamped(offset), to: plan.last.addingClamped(offset),
                interval: rate.flatMap { $0 > 0 ? Int64(1e9 / $0) : nil } ?? Self.interval(rows))
            if let note = decided.note {
                plan.outcome.notes.append("gap from sample \(hole.gaps[0].from): \(note)")
            }
            plan.outcome.samples += decided.samples
            plan.outcome.gaps += decided.filled.count
            let unpaused = decided.rows.filter { !rows[$0].isPaused }.map { plan.rows[start + $0] }
            plan.holes.append((hole, decided, unpaused))
        }
        plan.outcome.take(plan.holes.flatMap(\.plan.filled), of: plan.stream.log)
        // The holes have theirs.
        plan.rows = []
    }

    /// The median time between rows.
    private static func interval(_ rows: [HolePlan.Row]) -> Int64? {
        let intervals = zip(rows, rows.dropFirst()).map { $1.uptime - $0.uptime }.sorted()
        return intervals.isEmpty ? nil : intervals[intervals.count / 2]
    }

    // MARK: Writing

    private static func write(
        _ plan: StreamPlan, _ offsets: [String: Int64], _ number: Int, _ record: SessionRecord,
        in directory: Directory, _ calls: FileCalls
    ) throws(RecordingError) -> SessionRecord.FilledFile {
        let log = record.logs[plan.stream.index]
        let writer = try FillWriter(log, of: record, in: directory, calls: calls)
        for (hole, decided, unpaused) in plan.holes {
            guard let offset = offsets[hole.epoch], let origin = hole.origin else { continue }
            var rows = unpaused[...]
            for gap in decided.filled {
                for part in gap.parts {
                    guard let samples = part.samples else { continue }
                    // A part taken completely in a pause also needs a position marker: readers look for it.
                    let first = samples > 0 ? rows.first.map { $0.time + offset } : nil
                    writer.begin(
                        hole.epoch, from: part.from, at: first ?? hole.earliest.addingClamped(origin), origin: origin)
                    for row in rows.prefix(samples) {
                        try writer.append(row.values, at: row.time + offset, origin: origin)
                    }
                    rows = rows.dropFirst(samples)
                }
            }
        }
        return try writer.finish(number, plan.holes.flatMap(\.plan.filled))
    }

    /// The first and last uptime filled in before or after all recorded samples, in seconds.
    private static func ends(_ plan: StreamPlan, _ offsets: [String: Int64]) -> (first: Double?, last: Double?) {
        var ends: (first: Double?, last: Double?)
        for (hole, decided, rows) in plan.holes where decided.samples > 0 {
            guard let offset = offsets[hole.epoch] else { continue }
            if hole.before == nil, hole.formerEpoch == nil, let first = rows.first {
                ends.first = Double(first.time + offset) / 1e9
            }
            if hole.after == nil, hole.nextEpoch == nil, let last = rows.last {
                ends.last = Double(last.time + offset) / 1e9
            }
        }
        return ends
    }
}

extension [PhoneExport.Row] {
    /// The index of the first row at or after a time.
    fileprivate func partition(from time: Int64) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].time < time { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
