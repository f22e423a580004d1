import FoundationEssentials

/// A plot of each recording's error against its cadence.
struct ErrorPlot {
    private static let size = (width: 720.0, height: 400.0)
    private static let cadences = 20.0...200
    /// In percent; values beyond are drawn at the edge.
    private static let errors = -60.0...60
    private static let colors: [LabelledRecording.Class: String] = [
        .body: "#1b7837", .hand: "#2166ac", .wrist: "#b2182b", .waist: "#8c510a",
    ]

    let svg: String

    init(_ recordings: [LabelledRecording], _ counts: [String: Double]) {
        var lines = [
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 \(Self.size.width) \(Self.size.height)\" "
                + "font-family=\"sans-serif\" font-size=\"12\">"
        ]
        for error in stride(from: -60, through: 60, by: 20) {
            let y = Self.y(Double(error))
            lines.append("<path d=\"M50 \(y)H700\" stroke=\"#ccc\"/><text x=\"8\" y=\"\(y + 4)\">\(error) %</text>")
        }
        for cadence in stride(from: 20, through: 200, by: 20) {
            let x = Self.x(Double(cadence))
            lines.append("<path d=\"M\(x) 30V360\" stroke=\"#eee\"/><text x=\"\(x - 8)\" y=\"378\">\(cadence)</text>")
        }
        lines.append("<text x=\"300\" y=\"396\">cadence, steps/min</text>")
        for (index, place) in LabelledRecording.Class.allCases.enumerated() {
            let (x, color) = (60 + 160 * index, Self.colors[place] ?? "black")
            lines.append(
                "<circle cx=\"\(x)\" cy=\"14\" r=\"4\" fill=\"\(color)\"/>"
                    + "<text x=\"\(x + 10)\" y=\"18\">\(place.rawValue)</text>")
        }
        for recording in recordings where recording.steps > 0 {
            guard let cadence = recording.cadence, let count = counts[recording.name] else { continue }
            let error = 100 * (count / Double(recording.steps) - 1)
            let color = Self.colors[recording.placementClass] ?? "black"
            lines.append(
                "<circle cx=\"\(Self.x(cadence))\" cy=\"\(Self.y(error))\" r=\"4\" fill=\"\(color)\" "
                    + "fill-opacity=\"0.6\"><title>\(recording.name)</title></circle>")
        }
        svg = lines.joined(separator: "\n") + "\n</svg>\n"
    }

    private static func x(_ cadence: Double) -> Double {
        let value = min(max(cadence, cadences.lowerBound), cadences.upperBound)
        return (50 + 650 * (value - cadences.lowerBound) / (cadences.upperBound - cadences.lowerBound)).rounded()
    }

    private static func y(_ error: Double) -> Double {
        let value = min(max(error, errors.lowerBound), errors.upperBound)
        return (360 - 330 * (value - errors.lowerBound) / (errors.upperBound - errors.lowerBound)).rounded()
    }
}
