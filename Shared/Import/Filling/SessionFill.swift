package import Files
import Glibc
package import Messages
package import Recording
package import SystemPackage

/// Fills the gaps of a session that is over from what a phone recorded itself.
///
/// Samples are matched by device, sensor and time. What is filled in is marked, in files of its own; nothing that was recorded is
/// changed. After a kill at any moment, the session is as it was before, or filled.
package struct SessionFill {
    package struct Options: Sendable {
        /// The device whose streams are filled; nil if the session, or the export, says which.
        package var device: String?
        /// Whether to say what would be filled, and change nothing.
        package var isDryRun = false

        package init() {}
    }

    /// What became of a stream's gaps.
    package struct Stream: Sendable {
        package let name: StreamName
        /// How many samples were filled in, into how many gaps.
        package var samples = 0
        package var gaps = 0
        /// The gaps that are left.
        package var rest: [Gap] = []
        /// What a person should know.
        package var notes: [String] = []
    }

    package struct Outcome: Sendable {
        package let session: SessionIdentifier
        package let path: FilePath
        /// Of the device that have gaps.
        package var streams: [Stream] = []
        /// The fill that has used this export already; nil if none has.
        package var formerFill: SessionRecord.Fill?
        /// Archives that were removed because they do not have what was filled in.
        package var removedArchives: [String] = []
        /// Gaps of the whole session that are left.
        package var remainingGaps = 0

        package var samples: Int { streams.reduce(0) { $0 + $1.samples } }
    }

    private let path: FilePath
    private let source: FilePath
    private let options: Options
    private let version: String
    private let date: WallTime
    private let calls: FileCalls

    /// - Parameters:
    ///   - session: its directory.
    ///   - source: a zip, a JSON file, or a directory.
    ///   - version: of the program.
    ///   - date: now.
    package init(
        _ session: FilePath, from source: FilePath, _ options: Options, version: String, date: WallTime,
        calls: FileCalls = .system
    ) {
        path = session
        self.source = source
        self.options = options
        self.version = version
        self.date = date
        self.calls = calls
    }

    // MARK: All of it

    /// Fills what can be filled.
    /// - Throws: `invalidParameter`, saying why nothing can be filled; `locked`, `unreadable`, `noSpace`. The session is as it was then.
    package func run() throws(RecordingError) -> Outcome {
        let session = try SessionDirectory(at: try absolute(path))
        let lock = try SessionRewrite.lock(session)
        defer { withExtendedLifetime(lock) {} }
        if !options.isDryRun { try session.removeRewrite() }
        let record = try session.record()
        let archives = SessionArchives(of: session)
        try check(session, record, archives)
        var outcome = Outcome(session: record.session, path: path)
        outcome.remainingGaps = record.logs.reduce(0) { $0 + $1.gaps.count }
        if outcome.remainingGaps == 0 { return outcome }
        let verification = session.verify()
        if let finding = verification.findings.first(where: { $0.verdict == .damaged }) {
            throw refusal(
                "the session does not verify: \(finding)",
                "See `recorder verify`; bring back what it was, then fill it.")
        }
        let measured = try measure()
        let export = try reading { () throws(RecordingError) in try FillExport(try openSource()) }
        let device = try device(of: record, export)
        if let known = (record.fills ?? []).first(where: {
            $0.source.sha256 == measured.sha256 && $0.device == device
        }) {
            outcome.formerFill = known
            return outcome
        }
        var plans = try reading { () throws(RecordingError) in
            try self.plans(device, session, record, export)
        }
        outcome.streams = plans.streams.map(\.outcome)
        guard outcome.samples > 0 else {
            let notes = Set(outcome.streams.flatMap(\.notes)).sorted().joined(separator: "; ")
            throw refusal(
                "nothing of it belongs into a gap of \(device)\(notes.isEmpty ? "" : ": \(notes)")",
                "Export the recording that was made during the session, on the same phone.")
        }
        let before = outcome.remainingGaps
        let changes = plans.streams.reduce(0) { $0 + $1.outcome.rest.count - record.logs[$1.stream.index].gaps.count }
        outcome.remainingGaps = before + changes
        if options.isDryRun { return outcome }
        let claim = try archives?.claim()
        defer { withExtendedLifetime(claim) {} }
        try checkUpload(archives)
        try write(&plans, device, measured, session, record, verification, holding: lock) { () throws(RecordingError) in
            // What was made before is of what was there before. After a kill here, an archiver makes it anew, of either.
            guard let archives else { return }
            outcome.removedArchives = try archives.made()
            try archives.remove(outcome.removedArchives)
        }
        return outcome
    }

    // MARK: Refusals

    private func refusal(_ reason: String, _ advice: String) -> RecordingError {
        RecordingError(.invalidParameter, action: "fill", path: path, reason: reason, advice: advice)
    }

    private func check(
        _ session: SessionDirectory, _ record: SessionRecord, _ archives: SessionArchives?
    ) throws(RecordingError) {
        guard record.status.isOver else {
            throw refusal("the session is \(record.status)", "Stop it first.")
        }
        guard session.hasChecksums, record.logs.allSatisfy({ $0.file == nil }) else {
            throw refusal(
                "the session was not finished", "Let the recorder finish it, or repair a copy with `recorder recover`.")
        }
        try checkUpload(archives)
    }

    private func checkUpload(_ archives: SessionArchives?) throws(RecordingError) {
        guard let archives, let uploaded = archives.uploaded else { return }
        throw refusal(
            "its archive was uploaded on \(uploaded.utcText), so the receiver has the session with the gaps",
            "Move \(archives.receiptPath) away and fill the session again: an archiver then makes its archive anew and uploads "
                + "it, and the receiver has both.")
    }

    /// Runs what reads the export: errors name it.
    private func reading<Value>(_ body: () throws(RecordingError) -> Value) throws(RecordingError) -> Value {
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
        let name = try absolute(source).lastComponent?.string ?? ""
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

    /// The device whose streams are filled.
    private func device(of record: SessionRecord, _ export: FillExport) throws(RecordingError) -> String {
        let all = Set(record.logs.map(\.device)).sorted()
        if let asked = options.device {
            guard all.contains(asked) else {
                throw refusal(
                    "the session has no device \(asked)",
                    "It has \(all.joined(separator: ", ")): say which with --device.")
            }
            return asked
        }
        if let said = export.device, all.contains(said) { return said }
        let withGaps = Set(record.logs.filter { !$0.gaps.isEmpty }.map(\.device)).sorted()
        guard withGaps.count == 1 else {
            throw refusal(
                "several devices have gaps: \(withGaps.joined(separator: ", "))",
                "Say with --device which of them made the export.")
        }
        return withGaps[0]
    }

    // MARK: Plans

    /// A stream, and what is filled into it.
    private struct StreamPlan {
        let stream: FillStream
        let place: FillExport.Place?
        var outcome: Stream
        /// What the export has around its gaps, in the order of time.
        var rows: [Row] = []
        var holes: [(hole: GapHole, plan: HolePlan, rows: Range<Int>)] = []
        /// The times of its first and last sample in the export.
        var first = Int64.max
        var last = Int64.min

        init(_ stream: FillStream, _ place: FillExport.Place?) {
            self.stream = stream
            self.place = place
            outcome = Stream(name: stream.name)
            outcome.rest = stream.log.gaps
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

    /// Rows that are held, at most: what lies in the gaps of all streams.
    private static let maximumRows = 4_000_000
    /// What is looked at around a gap, for the samples beside it, in nanoseconds.
    private static let margin: Int64 = 200_000_000

    private func plans(
        _ device: String, _ session: SessionDirectory, _ record: SessionRecord, _ export: FillExport
    ) throws(RecordingError) -> Plans {
        var plans = Plans(streams: [])
        for (index, log) in record.logs.enumerated() where log.device == device && !log.gaps.isEmpty {
            let stream = try FillStream(index, of: record, in: session)
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
            throw refusal(
                plans.streams.isEmpty
                    ? "the device \(device) has no gaps"
                    : "the export has none of the streams of \(device) with gaps, which are "
                        + plans.streams.map(\.stream.log.stream).joined(separator: ", "),
                "It has \(export.streams.joined(separator: ", ")). Say with --device which device made it.")
        }
        plans.offsets = try offsets(&plans, record, export)
        try collect(&plans, export)
        for index in plans.streams.indices { decide(&plans.streams[index], plans.offsets, record) }
        return plans
    }

    /// Finds by how much the times of the export differ from uptimes, in each epoch.
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
        var order: [Int] = []
        var wanted: [FillExport.Wanted] = []
        for (index, plan) in plans.streams.enumerated() {
            guard let place = plan.place else { continue }
            var times = TimeRanges.all
            // Sums are held in memory.
            if case .sum = place {
                times = TimeRanges(
                    plan.stream.anchors.flatMap { epoch, anchors in
                        anchors.map { anchor in
                            let time = anchor.uptime &- (expected[epoch] ?? 0)
                            return (time - OffsetSearch.nearby)...(time + OffsetSearch.nearby)
                        }
                    })
            }
            order.append(index)
            wanted.append(FillExport.Wanted(stream: plan.stream, place: place, times: times))
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

    /// Reads what the export has in and beside the gaps.
    private func collect(_ plans: inout Plans, _ export: FillExport) throws(RecordingError) {
        var order: [Int] = []
        var wanted: [FillExport.Wanted] = []
        for (index, plan) in plans.streams.enumerated() {
            guard let place = plan.place else { continue }
            let ranges = plan.stream.holes.compactMap { hole in window(of: hole, plans.offsets) }
            if ranges.isEmpty { continue }
            order.append(index)
            wanted.append(FillExport.Wanted(stream: plan.stream, place: place, times: TimeRanges(ranges)))
        }
        var count = 0
        try export.read(wanted) { stream, time, values, key throws(RecordingError) in
            count += 1
            guard count <= Self.maximumRows else {
                throw .notFilled(
                    "its gaps have more than \(Self.maximumRows) samples",
                    "Leave tables out of the export, and fill stream by stream.")
            }
            plans.streams[order[stream]].rows.append(Row(time: time, values: values, key: key))
        }
        for index in order { plans.streams[index].rows = Self.sorted(plans.streams[index].rows) }
    }

    /// In order of time, each once.
    private static func sorted(_ rows: [Row]) -> [Row] {
        let isSorted = zip(rows, rows.dropFirst()).allSatisfy { $0.time <= $1.time }
        // Where times are the same, in the order of the file.
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

    /// When a hole was, on the phone's clock, with what is beside it.
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
        var log = plan.stream.log
        for hole in plan.stream.holes {
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
            let decided = HolePlan(
                hole, rows: rows, from: plan.first.addingClamped(offset), to: plan.last.addingClamped(offset),
                interval: plan.stream.log.rate.flatMap { $0 > 0 ? Int64(1e9 / $0) : nil } ?? Self.interval(rows))
            if let note = decided.note {
                plan.outcome.notes.append("gap from sample \(hole.gaps[0].from): \(note)")
            }
            plan.outcome.samples += decided.samples
            plan.outcome.gaps += decided.filled.count
            let range = (start + decided.rows.lowerBound)..<(start + decided.rows.upperBound)
            plan.holes.append((hole, decided, range))
        }
        let filled = plan.holes.flatMap(\.plan.filled)
        log.add(
            SessionRecord.FilledFile(fill: 0, name: "", bytes: 0, samples: 0, sha256: "", gaps: filled))
        plan.outcome.rest = log.gaps
    }

    /// The median time between rows.
    private static func interval(_ rows: [HolePlan.Row]) -> Int64? {
        let intervals = zip(rows, rows.dropFirst()).map { $1.uptime - $0.uptime }.sorted()
        return intervals.isEmpty ? nil : intervals[intervals.count / 2]
    }

    // MARK: Writing

    private func write(
        _ plans: inout Plans, _ device: String, _ source: SessionRecord.Source, _ session: SessionDirectory,
        _ old: SessionRecord, _ verification: SessionVerification, holding lock: DirectoryLock,
        beforeReplacing: () throws(RecordingError) -> Void
    ) throws(RecordingError) {
        let number = (old.fills?.last?.number ?? 0) + 1
        let latency = try session.report().commitLatency
        var record = old
        record.fills =
            (old.fills ?? []) + [
                SessionRecord.Fill(
                    number: number, date: date, device: device, source: source, offsets: plans.offsets,
                    version: version, former: try SessionRewrite.former(of: session, fill: number))
            ]
        let rewrite = try SessionRewrite(of: session, fill: number, holding: lock, calls: calls)
        var known = verification.hashes.map { name, sha256 in
            FinishedFile(name: name, bytes: 0, samples: 0, sha256: sha256)
        }.filter { !SessionRewrite.documents.contains($0.name) }
        for plan in plans.streams where plan.outcome.samples > 0 || plan.outcome.gaps > 0 {
            let file = try write(plan, plans.offsets, number, old, in: rewrite.new.directory)
            known.append(FinishedFile(name: file.name, bytes: file.bytes, samples: file.samples, sha256: file.sha256))
            record.logs[plan.stream.index].add(file)
            extend(&record.logs[plan.stream.index], plan, plans.offsets)
        }
        try beforeReplacing()
        _ = try rewrite.finish(record, latency: latency, known: known)
    }

    private func write(
        _ plan: StreamPlan, _ offsets: [String: Int64], _ number: Int, _ record: SessionRecord, in directory: Directory
    ) throws(RecordingError) -> SessionRecord.FilledFile {
        let log = record.logs[plan.stream.index]
        let writer = try FillWriter(log, of: record, in: directory, calls: calls)
        let timeline = FillWriter.timeline(of: log, record)
        for (hole, decided, range) in plan.holes {
            guard let offset = offsets[hole.epoch], let origin = hole.origin else { continue }
            var rows = plan.rows[range].filter { !timeline.span(at: $0.time + offset - origin).state.isPaused }[...]
            for gap in decided.filled {
                for part in gap.parts {
                    guard let samples = part.samples, samples > 0, let first = rows.first else { continue }
                    writer.begin(hole.epoch, from: part.from, at: first.time + offset, origin: origin)
                    for row in rows.prefix(samples) {
                        try writer.append(row.values, at: row.time + offset, origin: origin)
                    }
                    rows = rows.dropFirst(samples)
                }
            }
        }
        return try writer.finish(number, plan.holes.flatMap(\.plan.filled))
    }

    /// Moves a stream's first and last uptime, if samples were filled in before or behind all that were recorded.
    private func extend(_ log: inout SessionRecord.Log, _ plan: StreamPlan, _ offsets: [String: Int64]) {
        for (hole, decided, range) in plan.holes where decided.samples > 0 {
            guard let offset = offsets[hole.epoch] else { continue }
            if hole.before == nil, hole.formerEpoch == nil, let first = plan.rows[range].first {
                log.firstUptime = Double(first.time + offset) / 1e9
            }
            if hole.after == nil, hole.nextEpoch == nil, let last = plan.rows[range].last {
                log.lastUptime = Double(last.time + offset) / 1e9
            }
        }
    }

    /// A path that tells where it leads: its last part is a name.
    private func absolute(_ path: FilePath) throws(RecordingError) -> FilePath {
        guard let resolved = realpath(path.string, nil) else {
            throw RecordingError(
                .notFound, action: "find", path: path, reason: "it does not exist", advice: "Check the path.")
        }
        defer { free(resolved) }
        return FilePath(platformString: resolved)
    }
}

extension [SessionFill.Row] {
    /// The first row that is not before a time.
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
