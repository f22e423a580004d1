import Export
import Foundation
import Recording
import SystemPackage
import TestSupport
import Testing

/// Random sessions, read back: each value has the digits that were recorded, and each sample occurs once and in order.
@Suite(.timeLimit(.minutes(1)))
struct DigitTests {
    @Test(arguments: 0..<12)
    func everyDigitIsReadBack(_ number: Int) throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        var random = SplitMix(seed: seed)
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            let format = LogFormat.allCases[number % 3]
            try session.add("a/b", fields: ["x", "y"], format: format)
            var expected: [[String]] = []
            var absent = 0
            var time = 1
            for _ in 0..<Int.random(in: 1...200, using: &random) {
                time += Int.random(in: 1...20, using: &random)
                switch Int.random(in: 0..<12, using: &random) {
                case 0: try session.rotate("a/b", at: Double(time) / 1000)
                case 1:
                    try session.gap("a/b", count: Int.random(in: 1...9, using: &random), at: Double(time) / 1000)
                    absent += 1
                case 2:
                    try session.pause(
                        from: Double(time) / 1000, to: Double(time + 5) / 1000, leavingOut: ["a/b": 3])
                    time += 6
                    absent += 1
                default:
                    let values = [Self.value(&random), Self.value(&random)]
                    try session.sample("a/b", Double(time) / 1000, values.joined(separator: ","))
                    expected.append([Self.seconds(time)] + values.map(Self.inTable))
                }
            }
            try session.finish(at: Double(time + 1) / 1000)
            let out = directory.appending("out")
            let exported = try Exported(session.directory, to: out, .csv) { $0.clock = .recorder }
            let lines = try exported.text("s1/a_b.csv").split(separator: "\n").dropFirst()
            #expect(
                lines.map { $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init) } == expected,
                "seed \(seed)")
            #expect(
                try exported.text("s1/gaps.tsv").split(separator: "\n").count == absent + 1, "seed \(seed)")

            let motion = try Exported(session.directory, to: out, .bids)
                .text("sub-01/motion/sub-01_task-Walk_tracksys-ab_motion.tsv").split(separator: "\n")
            #expect(
                motion.map { $0.split(separator: "\t").dropFirst().map(String.init) }
                    == expected.map { $0.dropFirst().map { ["", "NaN", "-Infinity"].contains($0) ? "n/a" : $0 } },
                "seed \(seed)")
        }
    }

    /// A value as sources write it, in JSON.
    private static func value(_ random: inout SplitMix) -> String {
        let digits = String(Int.random(in: 0...999_999, using: &random))
        return switch Int.random(in: 0..<9, using: &random) {
        case 0: "null"
        case 1: "\"NaN\""
        case 2: "\"-Infinity\""
        case 3: "-0"
        case 4: "\(digits).000"
        case 5: "-0.\(digits)e-12"
        case 6: "\(digits)E+3"
        case 7: "1234567890123456789012345678901234567890"
        default: "\(Double.random(in: -10...10, using: &random))"
        }
    }

    /// The same value as a table's cell.
    private static func inTable(_ json: String) -> String {
        json == "null" ? "" : json.replacing("\"", with: "")
    }

    private static func seconds(_ milliseconds: Int) -> String {
        let text = "\(Double(milliseconds) / 1000)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }
}
