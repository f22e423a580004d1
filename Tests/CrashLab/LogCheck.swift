/// The oracle for one log: each sample published during the session must be there once, in order, with its values, or covered by
/// a gap.
///
/// A pure value. Samples have no number in a log; the uptime identifies them.
struct LogCheck {
    private let expectation: SessionExpectation
    private let history: StreamHistory
    private let log: String
    private(set) var findings = Findings()

    /// The samples found of each epoch, as runs in their order.
    private var present: [[Range<Int>]]
    private var gaps: [(epoch: Int, from: Int, count: Int)] = []
    /// The epoch of the last sample or gap, and the next number in it.
    private var epoch = 0
    private var next: Int?
    /// The place of the next sample, if a marker announced it.
    private var announced: (epoch: Int, sequence: Int)?
    /// Whether the log has such markers: then each sample that does not follow its predecessor needs one.
    private let hasPlaces: Bool
    /// `uptime` less `timestamp`, which is constant throughout an epoch.
    private var origins: [Double?]

    /// Checks the records of all files of a log, in order.
    init(_ records: [LogRecord], of log: String, history: StreamHistory, expectation: SessionExpectation) {
        self.expectation = expectation
        self.history = history
        self.log = log
        present = Array(repeating: [], count: history.epochs.count)
        origins = Array(repeating: nil, count: history.epochs.count)
        hasPlaces = records.contains { $0.marker != nil && $0.marker != "gap" && $0.from != nil }
        for (index, record) in records.enumerated() {
            if record.isSample {
                findings.samples += 1
                take(record, at: index)
            } else if record.marker == "gap" {
                takeGap(record, at: index)
            } else if record.from != nil {
                takePlace(record, at: index)
            }
        }
        checkCompleteness()
    }

    private func place(_ epoch: Int, _ sequence: Int) -> String {
        "\(log): sample \(sequence) of epoch \(epoch) (\(history.epochs[epoch].epoch))"
    }

    private mutating func take(_ record: LogRecord, at index: Int) {
        guard let (epoch, sequence) = locate(record.uptime) else {
            if skipsIntoHole(record.uptime) {
                // The position is unknown now.
                next = nil
            } else {
                findings.violate("\(log): record \(index) is not a sample that was published: \(record)")
                findings.unexplained += 1
            }
            return
        }
        let known = history.epochs[epoch]
        if !zip(record.values, known.values(sequence)).allSatisfy({ $0.bitPattern == $1.bitPattern })
            || record.values.count != known.columns - 1
        {
            findings.violate(
                "\(place(epoch, sequence)) has \(record.values) in place of \(Array(known.values(sequence)))")
            findings.unexplained += 1
        }
        check(record, date: known.date(sequence), at: place(epoch, sequence))
        let origin = record.uptime - record.timestamp
        if let first = origins[epoch], abs(first - origin) > 1e-6 {
            findings.violate("\(place(epoch, sequence)) has an origin of \(origin) s, others \(first) s")
        }
        origins[epoch] = origins[epoch] ?? origin

        checkPlace(epoch, sequence, at: index)
        if let next, (epoch, sequence) < (self.epoch, next) {
            if present[epoch].contains(where: { $0.contains(sequence) }) {
                findings.duplicated += 1
                findings.violate("\(place(epoch, sequence)) is there twice, again as record \(index)")
            } else {
                findings.violate("\(place(epoch, sequence)) is out of order, as record \(index)")
                add(sequence, to: epoch)
            }
            return
        }
        add(sequence, to: epoch)
        self.epoch = epoch
        next = sequence + 1
    }

    /// Takes a marker that announces the next sample.
    private mutating func takePlace(_ record: LogRecord, at index: Int) {
        guard let epoch = history.epochs.firstIndex(where: { $0.epoch == record.epoch }), let from = record.from else {
            findings.violate("\(log): record \(index) names a place that no publisher has: \(record)")
            return
        }
        announced = (epoch, from)
    }

    /// Compares a sample's place with the markers before it.
    private mutating func checkPlace(_ epoch: Int, _ sequence: Int, at index: Int) {
        defer { announced = nil }
        if let announced {
            if announced != (epoch, sequence) {
                findings.violate(
                    "\(place(epoch, sequence)) is record \(index), where a marker says that sample "
                        + "\(announced.sequence) of epoch \(announced.epoch) comes next")
            }
        } else if hasPlaces, let next, (epoch, sequence) != (self.epoch, next) {
            findings.violate(
                "\(place(epoch, sequence)) does not follow on sample \(next - 1) of epoch \(self.epoch), and no marker "
                    + "says so")
        }
    }

    private mutating func check(_ record: LogRecord, date: Double, at place: String) {
        if expectation.presence(at: date, in: history.name) == .absent {
            findings.violate("\(place) was taken during a pause and is there")
        }
        if !expectation.mayHave(record.stepPath, at: date) {
            findings.violate("\(place), taken at \(date), can't be of step \(record.stepPath)")
        }
        if record.sensorType != history.stream {
            findings.violate("\(place) has the sensorType \(record.sensorType ?? "")")
        }
        if date < expectation.startAsked.wall - 3 * SessionExpectation.tolerance {
            findings.violate("\(place) is older than the session")
        }
    }

    private mutating func add(_ sequence: Int, to epoch: Int) {
        if let last = present[epoch].last, last.upperBound == sequence {
            present[epoch][present[epoch].count - 1] = last.lowerBound..<sequence + 1
        } else {
            present[epoch].append(sequence..<sequence + 1)
        }
    }

    private func locate(_ uptime: Double) -> (epoch: Int, sequence: Int)? {
        if let next, history.epochs[epoch].isKnown(next), history.epochs[epoch].uptime(next) == uptime {
            return (epoch, next)
        }
        for (index, epoch) in history.epochs.enumerated() {
            if let sequence = epoch.sequence(at: uptime) { return (index, sequence) }
        }
        return nil
    }

    /// Whether a sample may be one that the laboratory itself missed.
    private mutating func skipsIntoHole(_ uptime: Double) -> Bool {
        for (index, epoch) in history.epochs.enumerated() {
            let isLast = index == history.epochs.count - 1
            for hole in epoch.holes + (isLast ? [] : [epoch.next..<epoch.next]) {
                let before = hole.lowerBound == 0 ? -Double.infinity : epoch.uptime(hole.lowerBound - 1)
                let after = hole.upperBound < epoch.next ? epoch.uptime(hole.upperBound) : Double.infinity
                let later = history.epochs.dropFirst(index + 1).first { $0.isKnown(0) }?.uptime(0) ?? .infinity
                if uptime > before, uptime < min(after, later) { return true }
            }
        }
        return false
    }

    private mutating func takeGap(_ record: LogRecord, at index: Int) {
        guard let epoch = history.epochs.firstIndex(where: { $0.epoch == record.epoch }), let from = record.from,
            let count = record.count, from >= 0, count >= 0, record.reason != nil
        else {
            findings.violate("\(log): record \(index) is a gap that names nothing that was published: \(record)")
            return
        }
        if let next, (epoch, from) < (self.epoch, next) {
            findings.violate("\(place(epoch, from)) begins a gap behind sample \(next) of epoch \(self.epoch)")
        }
        gaps.append((epoch, from, count))
        announced = nil
        self.epoch = epoch
        next = from + count
    }

    /// The samples of an epoch that must be there if nothing was lost: those of the session's time, and all between two that are
    /// there.
    private func required(of index: Int) -> Range<Int> {
        let epoch = history.epochs[index]
        let end = epoch.next(at: expectation.stopAsked.monotonic)
        let isBegun = history.epochs.prefix(index).contains { !$0.arrivals.isEmpty }
        var start = 0
        if !isBegun || (epoch.arrivals.first?.at ?? 0) <= expectation.startAnswered.monotonic {
            start = epoch.next(at: expectation.startAnswered.monotonic)
            // The laboratory may have heard late of samples published before the answer.
            while start < epoch.next, !epoch.isKnown(start) || epoch.date(start) < expectation.startAnswered.wall + 0.02
            {
                start += 1
            }
        }
        guard let first = present[index].map(\.lowerBound).min(), let last = present[index].map(\.upperBound).max()
        else { return start..<max(start, end) }
        // The end of a session that failed before its start was answered precedes its beginning.
        return (start < end ? min(start, first) : first)..<max(end, last)
    }

    private mutating func checkCompleteness() {
        for (index, epoch) in history.epochs.enumerated() {
            var runs = present[index].sorted { $0.lowerBound < $1.lowerBound }
            for gap in gaps where gap.epoch == index {
                let named = gap.from..<gap.from + gap.count
                if runs.contains(where: { $0.overlaps(named) }) {
                    findings.violate("\(place(index, gap.from)) begins a gap of \(gap.count), of which some are there")
                }
            }
            let required = required(of: index)
            if (epoch.arrivals.first?.at ?? .max) > expectation.stopAsked.monotonic, runs.isEmpty { continue }
            runs.append(required.upperBound..<required.upperBound)
            var missing: [Range<Int>] = []
            var expected = required.lowerBound
            for run in runs {
                if run.lowerBound > expected { missing.append(expected..<run.lowerBound) }
                expected = max(expected, run.upperBound)
            }
            for range in missing { judge(range, of: index, epoch) }
        }
    }

    /// Judges a run of missing samples.
    private mutating func judge(_ range: Range<Int>, of index: Int, _ epoch: StreamHistory.Epoch) {
        let lost = range.filter { sequence in
            epoch.isKnown(sequence) && expectation.presence(at: epoch.date(sequence), in: history.name) == .present
        }
        guard let first = lost.first, let last = lost.last else { return }
        let unexplained = lost.filter { sequence in
            !gaps.contains {
                $0.epoch == index && sequence >= $0.from && (sequence < $0.from + $0.count || $0.count == 0)
            }
        }
        findings.lost += lost.count
        findings.unexplained += unexplained.count
        if let first = unexplained.first, let last = unexplained.last {
            findings.violate(
                "\(place(index, first)) to \(last) of \(required(of: index)) are missing and nothing says so: "
                    + "\(unexplained.count) samples, uptimes \(epoch.uptime(first)) to \(epoch.uptime(last))")
        } else if !expectation.mayLose {
            findings.violate("\(place(index, first)) to \(last) are lost, \(lost.count) samples, as a gap says")
        }
    }
}
