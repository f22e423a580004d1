import FoundationEssentials
import StepDetection
import TextInput

/// A recording whose steps are known, from one of the `truth.csv` tables.
struct LabelledRecording: Sendable {
    enum Kind: String {
        case walk, mixed, nonwalk
        case unlabelled = "loco_unlabelled"
    }

    /// What is common to recordings whose errors are averaged.
    enum Class: String, CaseIterable {
        case body = "phone on body"
        case hand = "phone in hand"
        case wrist
        case waist
    }

    /// Which half of the people a recording belongs to.
    enum Part: String, CaseIterable {
        case tuned, checked
    }

    let name: String
    let path: String
    let steps: Int
    let kind: Kind
    let activity: String
    let placement: String
    let subject: String
    let seconds: Double

    /// Seconds at which the true steps were made, from `steps/<name>.csv`; empty if nobody knows.
    var stepTimes: [Double] {
        let file = path.replacing("/\(name).csv.gz", with: "/steps/\(name).csv")
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
        return text.split(whereSeparator: \.isNewline).compactMap {
            Double($0.prefix { $0 != "," })
        }
    }

    /// The true bouts of at least 10 steps, with no pause of 2.5 s: when they begin and end.
    var bouts: [ClosedRange<Double>] {
        var bouts: [ClosedRange<Double>] = []
        var bout: [Double] = []
        for time in stepTimes + [.infinity] {
            if let last = bout.last, time - last >= 2.5 {
                if bout.count >= 10 { bouts.append(bout[0]...last) }
                bout = []
            }
            bout.append(time)
        }
        return bouts
    }

    var placementClass: Class {
        switch placement {
        case "wrist": .wrist
        case "hand", "hand_swinging": .hand
        case "waist_hip", "waist_back": .waist
        default: .body
        }
    }

    /// By the person's name alone: bit 4 of its CRC-32. The same person is never in both.
    var part: Part {
        var crc = UInt32.max
        for byte in subject.utf8 {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~crc >> 4 & 1 == 0 ? .tuned : .checked
    }

    var isClappingOrBrushing: Bool { activity == "clapping" || activity == "brushing teeth" }
    var isInVehicle: Bool { activity.contains("driv") || activity == "train" }

    /// The recordings below a directory, in the order of their names.
    static func all(in directory: String) throws -> [Self] {
        var all: [Self] = []
        for dataset in try FileManager.default.contentsOfDirectory(atPath: directory).sorted() {
            guard let table = try? String(contentsOfFile: "\(directory)/\(dataset)/truth.csv", encoding: .utf8) else {
                continue
            }
            let rows = table.split(whereSeparator: \.isNewline).map(cells)
            guard let header = rows.first else { continue }
            for row in rows.dropFirst() {
                func cell(_ name: String) -> String { header.firstIndex(of: name).map { row[$0] } ?? "" }
                guard row.count == header.count, let kind = Kind(rawValue: cell("kind")),
                    let steps = Double(cell("true_steps")), let seconds = Double(cell("duration_s"))
                else { throw TextInputError(.invalidInput, "\(dataset)/truth.csv: cannot be understood: \(row)") }
                let name = cell("recording")
                all.append(
                    Self(
                        name: name, path: "\(directory)/\(dataset)/\(name).csv.gz", steps: Int(steps), kind: kind,
                        activity: cell("activity"), placement: cell("placement"), subject: cell("subject"),
                        seconds: seconds))
            }
        }
        return all
    }

    private static func cells(_ line: Substring) -> [String] {
        var cells = [""]
        var isQuoted = false
        for character in line {
            switch character {
            case "\"": isQuoted.toggle()
            case "," where !isQuoted: cells.append("")
            default: cells[cells.count - 1].append(character)
            }
        }
        return cells
    }
}
