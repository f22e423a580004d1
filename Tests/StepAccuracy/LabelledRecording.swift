import FoundationEssentials
import StepDetection
import TextInput

/// A recording with known steps, from one of the `truth.csv` tables.
struct LabelledRecording: Sendable {
    enum Kind: String {
        case walk, mixed, nonwalk
        case unlabelled = "loco_unlabelled"
    }

    /// The class of recordings whose errors are averaged.
    enum Class: String, CaseIterable {
        case body = "phone on body"
        case hand = "phone in hand"
        case wrist
        case waist
    }

    /// The half of the people to which a recording belongs.
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
    /// The beginning and end of walking, in samples of 10 ms, if the table has them and no step has a time.
    let walk: ClosedRange<Double>?

    /// The times of the true steps in seconds, from `steps/<name>.csv`; empty if unknown.
    var stepTimes: [Double] {
        let file = path.replacing("/\(name).csv.gz", with: "/steps/\(name).csv")
        guard let text = try? String(contentsOfFile: file, encoding: .utf8) else { return [] }
        return text.split(whereSeparator: \.isNewline).compactMap {
            Double($0.prefix { $0 != "," })
        }
    }

    /// Steps a minute while walking: from the median interval between two steps, or from all steps and the walk's duration.
    var cadence: Double? {
        let times = stepTimes
        let intervals = zip(times.dropFirst(), times).map { $0 - $1 }.filter { $0 > 0 && $0 < 2.5 }.sorted()
        if intervals.count > 4 { return 60 / intervals[intervals.count / 2] }
        guard kind == .walk, steps > 0 else { return nil }
        return 60 * Double(steps) / (walk.map { ($0.upperBound - $0.lowerBound) / 100 } ?? seconds)
    }

    /// One of eight parts whose people `train.py` leaves out together: the CRC-32 of the person's name, modulo 8.
    var leftOutPart: Int { Int(Self.checksum(subject) % 8) }

    /// The beginnings and ends of the true bouts, which have at least 10 steps and no pause of 2.5 s.
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

    /// Depends only on the person's name (bit 4 of its CRC-32), so no person is in both halves.
    var part: Part {
        Self.checksum(subject) >> 4 & 1 == 0 ? .tuned : .checked
    }

    private static func checksum(_ text: String) -> UInt32 {
        var crc = UInt32.max
        for byte in text.utf8 {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xEDB8_8320 : 0) }
        }
        return ~crc
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
                        seconds: seconds, walk: walk(in: cell("notes"))))
            }
        }
        return all
    }

    /// Parses "walk between samples (1607, 5393)".
    private static func walk(in notes: String) -> ClosedRange<Double>? {
        guard let start = notes.firstRange(of: "walk between samples (") else { return nil }
        let samples = notes[start.upperBound...].prefix { $0 != ")" }.split(separator: ", ").compactMap { Double($0) }
        return samples.count == 2 && samples[0] < samples[1] ? samples[0]...samples[1] : nil
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
