/// The errors of step counts by class of placement, in the rows that are compared with the peers.
struct AccuracyTable {
    struct Row {
        let name: String
        let recordings: [LabelledRecording]
        let isFalseSteps: Bool
    }

    /// Steps a minute.
    static let bands: [(name: String, range: Range<Double>)] = [
        ("below 80 steps/min", 0..<80), ("80 to 100", 80..<100), ("100 to 120", 100..<120),
        ("120 and more", 120..<1000),
    ]

    let rows: [Row]

    init(_ recordings: [LabelledRecording]) {
        let still = recordings.filter { $0.kind == .nonwalk }
        let plain = still.filter { !$0.isClappingOrBrushing }
        var rows = LabelledRecording.Class.allCases.map { place in
            Row(
                name: place.rawValue,
                recordings: recordings.filter {
                    ($0.kind == .walk || $0.kind == .mixed) && $0.steps > 0 && $0.placementClass == place
                }, isFalseSteps: false)
        }
        let walked = recordings.compactMap { recording in recording.cadence.map { (recording, $0) } }
        rows += Self.bands.map { band in
            Row(name: band.name, recordings: walked.filter { band.range.contains($0.1) }.map(\.0), isFalseSteps: false)
        }
        rows += [
            Row(name: "false/h all", recordings: still, isFalseSteps: true),
            Row(name: "false/h but clapping, teeth", recordings: plain, isFalseSteps: true),
            Row(name: "false/h phone", recordings: still.filter { $0.placement != "wrist" }, isFalseSteps: true),
            Row(
                name: "false/h wrist but those", recordings: plain.filter { $0.placement == "wrist" },
                isFalseSteps: true),
            Row(name: "false/h driving, train", recordings: still.filter(\.isInVehicle), isFalseSteps: true),
            Row(
                name: "false/h clapping, teeth", recordings: still.filter(\.isClappingOrBrushing), isFalseSteps: true),
        ]
        self.rows = rows.filter { !$0.recordings.isEmpty }
    }

    /// The table as text: mean of |error| / mean of error in percent, or false steps an hour; one column for each set of counts.
    func text(_ columns: [(name: String, counts: [String: Double])]) -> String {
        var lines = [["", "n"] + columns.map(\.name)]
        for row in rows {
            lines.append([row.name, "\(row.recordings.count)"] + columns.map { Self.cell(row, $0.counts) })
        }
        let widths = lines[0].indices.map { index in lines.map { $0[index].count }.max() ?? 0 }
        return lines.map { line in
            line.enumerated().map { index, cell in
                let padding = String(repeating: " ", count: widths[index] - cell.count)
                return index == 0 ? cell + padding : padding + cell
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    /// The 95 % interval of the row's figure if other people of the same kind were counted. People are resampled from those of
    /// the row, with all of their recordings (Efron and Tibshirani, "An introduction to the bootstrap", 1993).
    ///
    /// - Returns: nil for fewer than three people, too few for an interval.
    static func interval(_ row: Row, _ counts: [String: Double]) -> ClosedRange<Double>? {
        let people = Dictionary(grouping: row.recordings, by: \.subject).sorted { $0.key < $1.key }.map(\.value)
        guard people.count >= 3 else { return nil }
        // A fixed seed, so that the table is the same each time (Marsaglia, "Xorshift RNGs", 2003).
        var seed: UInt64 = 88_172_645_463_325_252
        var figures: [Double] = []
        for _ in 0..<1000 {
            var drawn: [LabelledRecording] = []
            for _ in people {
                seed ^= seed << 13
                seed ^= seed >> 7
                seed ^= seed << 17
                drawn += people[Int(seed >> 33) % people.count]
            }
            let again = Row(name: row.name, recordings: drawn, isFalseSteps: row.isFalseSteps)
            guard let figure = figure(again, counts) else { return nil }
            figures.append(figure.size)
        }
        figures.sort()
        return figures[25]...figures[974]
    }

    /// The rows with their intervals, as text.
    func intervals(_ counts: [String: Double]) -> String {
        rows.map { row in
            let people = Set(row.recordings.map(\.subject)).count
            let range = Self.interval(row, counts).map {
                "\(Self.tenths($0.lowerBound)) to \(Self.tenths($0.upperBound))"
            }
            return "\(row.name): \(Self.cell(row, counts)) (95 %: \(range ?? "–"); \(people) people)"
        }.joined(separator: "\n")
    }

    /// A row's mean of |error| in percent, or false steps an hour, and the mean of the error; nil if a count is missing.
    static func figure(_ row: Row, _ counts: [String: Double]) -> (size: Double, bias: Double)? {
        var (size, bias, seconds) = (0.0, 0.0, 0.0)
        for recording in row.recordings {
            guard let count = counts[recording.name] else { return nil }
            let error = count - Double(recording.steps)
            size += row.isFalseSteps ? max(0, error) : abs(error) / Double(recording.steps)
            bias += error / Double(max(1, recording.steps))
            seconds += recording.seconds
        }
        let number = Double(row.recordings.count)
        return row.isFalseSteps ? (size / seconds * 3600, 0) : (100 * size / number, 100 * bias / number)
    }

    private static func cell(_ row: Row, _ counts: [String: Double]) -> String {
        guard let figure = figure(row, counts) else { return "–" }
        if row.isFalseSteps { return "\(Int(figure.size.rounded()))" }
        return "\(tenths(figure.size))/\(figure.bias < 0 ? "" : "+")\(tenths(figure.bias))"
    }

    private static func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
}
