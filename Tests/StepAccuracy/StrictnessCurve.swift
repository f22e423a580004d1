import FoundationEssentials
import StepDetection
import TextInput

/// Missed and false steps by strictness: the three strictnesses of the settings, and evidence levels in between.
struct StrictnessCurve {
    private struct Point {
        let name: String
        let row: [String: Double]
        /// The share of the true bouts whose first credit comes within 4 s.
        let prompt: Double
        /// The mean share of uncounted steps, over recordings with steps.
        let missed: Double
    }

    /// Between lenient, normal and strict: the evidence that begins a bout, and the upper limit of the accumulated evidence.
    private static let between: [(enough: Double, most: Double)] = [(1.5, 2.4), (2.6, 3.1), (3.5, 3.8), (5, 5.5)]

    private var points: [Point] = []
    private let names: [String]

    init(_ recordings: [LabelledRecording], _ tables: [LearnedTable]) throws {
        let table = AccuracyTable(recordings)
        names = table.rows.map(\.name)
        var choices = StepStrictness.allCases.map { ($0.rawValue, WalkingThresholds(strictness: $0)) }
        for (enough, most) in Self.between {
            var thresholds = WalkingThresholds()
            (thresholds.enough, thresholds.most) = (enough, most)
            choices.append(("evidence \(enough)", thresholds))
        }
        for (name, thresholds) in choices {
            var counts: [String: Double] = [:]
            var (bouts, prompt) = (0, 0)
            for recording in recordings where recording.kind != .unlabelled {
                var own = thresholds
                tables[recording.leftOutPart].apply(to: &own)
                var detector = StepDetector(StepDetectorSettings(), own)
                var count = StepCount()
                _ = try AccelerationFile.read(recording.path) { count.add($0, to: &detector) }
                counts[recording.name] = Double(count.steps.count)
                for bout in recording.bouts {
                    bouts += 1
                    // Some true times are off by a second.
                    let first = count.steps.first { bout.lowerBound - 1...bout.upperBound + 1 ~= $0.time }
                    if let first, first.creditedAt - bout.lowerBound <= 4 { prompt += 1 }
                }
            }
            let walked = recordings.filter { ($0.kind == .walk || $0.kind == .mixed) && $0.steps > 0 }
            let missed = walked.reduce(0) {
                $0 + max(0, Double($1.steps) - (counts[$1.name] ?? 0)) / Double($1.steps)
            }
            points.append(
                Point(
                    name: name,
                    row: Dictionary(
                        uniqueKeysWithValues: table.rows.map {
                            ($0.name, AccuracyTable.figure($0, counts)?.size ?? .nan)
                        }), prompt: Double(prompt) / Double(max(1, bouts)),
                    missed: missed / Double(max(1, walked.count))))
        }
    }

    /// Prints the curve as a table, ordered by false steps, and draws it.
    func print(plot: String?) throws {
        let points = points.sorted { Self.falseSteps($0) > Self.falseSteps($1) }
        let rows = [
            "phone on body", "phone in hand", "wrist", "below 80 steps/min", "false/h but clapping, teeth",
            "false/h all",
            "false/h driving, train",
        ].filter(names.contains)
        Swift.print("\nby strictness, each person counted by what was learned from others")
        Swift.print((["strictness", "missed %"] + rows + ["within 4 s %"]).joined(separator: " | "))
        for point in points {
            let cells = rows.map { Self.tenths(point.row[$0] ?? .nan) }
            Swift.print(
                ([point.name, Self.tenths(100 * point.missed)] + cells + [Self.tenths(100 * point.prompt)])
                    .joined(separator: " | "))
        }
        if let plot { try Self.svg(points).write(toFile: plot, atomically: true, encoding: .utf8) }
    }

    private static func falseSteps(_ point: Point) -> Double { point.row["false/h but clapping, teeth"] ?? 0 }

    private static func svg(_ points: [Point]) -> String {
        let mostFalse = 20 * ((points.map(falseSteps).max() ?? 100) / 20).rounded(.up)
        let mostMissed = 5 * (20 * (points.map(\.missed).max() ?? 0.1)).rounded(.up)
        func x(_ point: Point) -> Double { (60 + 520 * falseSteps(point) / mostFalse).rounded() }
        func y(_ point: Point) -> Double { (320 - 290 * 100 * point.missed / mostMissed).rounded() }
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 640 380\" font-family=\"sans-serif\" font-size=\"12\">",
            "<path d=\"M60 30V320H580\" fill=\"none\" stroke=\"#888\"/>",
            "<text x=\"230\" y=\"368\">false steps an hour, without clapping and tooth-brushing</text>",
            "<text x=\"8\" y=\"20\">steps missed, %</text>",
        ]
        for share in 0...5 {
            let (right, up) = (60 + 104 * share, 320 - 58 * share)
            lines.append("<text x=\"\(right - 8)\" y=\"338\">\(Int(mostFalse) * share / 5)</text>")
            lines.append("<text x=\"24\" y=\"\(up + 4)\">\(tenths(mostMissed * Double(share) / 5))</text>")
        }
        let path = points.map { "\(x($0)) \(y($0))" }.joined(separator: "L")
        lines.append("<path d=\"M\(path)\" fill=\"none\" stroke=\"#2166ac\"/>")
        for point in points {
            let isChoice = StepStrictness(rawValue: point.name) != nil
            lines.append(
                "<circle cx=\"\(x(point))\" cy=\"\(y(point))\" r=\"\(isChoice ? 5 : 3)\" fill=\"\(isChoice ? "#b2182b" : "#2166ac")\"/>"
                    + "<text x=\"\(x(point) + 8)\" y=\"\(y(point) - 6)\">\(point.name)</text>")
        }
        return lines.joined(separator: "\n") + "\n</svg>\n"
    }

    private static func tenths(_ number: Double) -> String { "\((number * 10).rounded() / 10)" }
}
