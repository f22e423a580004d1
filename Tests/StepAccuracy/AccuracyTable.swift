/// How well counts agree with what is known, by class of placement: the rows that are compared with the peers.
struct AccuracyTable {
    struct Row {
        let name: String
        let recordings: [LabelledRecording]
        let isFalseSteps: Bool
    }

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
        rows += [
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
