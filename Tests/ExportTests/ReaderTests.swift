import Export
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Exports, read by other projects' readers: every sample, time and gap.
@Suite(.timeLimit(.minutes(4)))
struct ReaderTests {
    /// The values with which Readers/read.py compares.
    private struct Expected: Codable {
        struct Stream: Codable {
            var fields: [String]
            var types: [String]
            var unit: String?
            var rate: Double?
            var samples: [[JSONValue]] = []
            var gaps: [[Int]] = []
        }

        struct Imu: Codable {
            var topic: String
            var accelerometer: String
            var gyroscope: String
            var without: Int
        }

        var session: String
        var task: String
        var start: Int
        var events: [String]
        var streams: [String: Stream] = [:]
        var imu: Imu
    }

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"))
    func everySampleIsReadWithItsTimeByEveryReader() async throws {
        try await withTemporaryDirectory { directory in
            let seed = UInt64.random(in: 0...UInt64.max)
            let (session, expected) = try Self.made(in: directory.appending("data"), SplitMix(seed: seed))
            let out = directory.appending("out")
            for format in SessionExport.Format.allCases {
                _ = try Exported(session.directory, to: out.appending(format.rawValue), format) {
                    $0.clock = format == .xdf ? .recorder : .utc
                    if format == .bids { ($0.subject, $0.run) = ("07", 2) }
                }
            }
            let file = directory.appending("expected.json")
            try Data(WireCoding.encode(expected)).write(to: URL(filePath: file.string))
            let paths = ["csv", "bids", "mcap", "xdf"].map { out.appending($0).string }
            let output = try await Readers.run("read.py", paths + [file.string])
            #expect(output.contains("actipy:") && output.contains("bids:"), "seed \(seed): \(output)")
        }
    }

    /// A session of two devices with gaps from 0.02 s to 6 s, a pause, rotated files, and numbers of all sizes.
    private static func made(in data: FilePath, _ random: SplitMix) throws -> (MadeSession, Expected) {
        var random = random
        let session = try MadeSession(in: data, "walk-1", task: "Walk 1")
        let names = ["left-wrist/accelerometer", "left-wrist/gyro", "chest/accelerometer"]
        try session.add(names[0])
        try session.add(names[1], unit: "rad/s", format: .csv)
        try session.add(names[2], fields: ["x", "y", "z", "quality"], unit: "m/s2", rate: 50, format: .tsv)
        var expected = Expected(
            session: "walk-1", task: "Walk1",
            start: Int(session.record.startDate.nanosecondsSince1970),
            events: ["start", "step", "pause", "resume", "stop"],
            imu: Expected.Imu(topic: "/left_wrist/imu", accelerometer: names[0], gyroscope: names[1], without: 0))
        expected.streams[names[0]] = Expected.Stream(
            fields: ["x", "y", "z"], types: ["number", "number", "number"], unit: "g", rate: 100)
        expected.streams[names[1]] = Expected.Stream(
            fields: ["x", "y", "z"], types: ["number", "number", "number"], unit: "rad/s", rate: 100)
        expected.streams[names[2]] = Expected.Stream(
            fields: ["x", "y", "z", "quality"], types: ["number", "number", "number", "number"], unit: "m/s2", rate: 50)

        var numbers = [names[0]: 0, names[1]: 0, names[2]: 0]
        func write(_ name: String, at time: Double, _ values: [String]) throws {
            try session.sample(name, time, values.joined(separator: ","))
            let nanoseconds = Int((time * 1e9).rounded())
            let json = try values.map { try WireCoding.decode(JSONValue.self, from: Array($0.utf8)) }
            let row = [JSONValue.integer(nanoseconds), .integer(numbers[name] ?? 0)] + json
            expected.streams[name]?.samples.append(row)
            numbers[name, default: 0] += 1
        }
        func values(_ count: Int, allOfThem isWhole: Bool = false) -> [String] {
            (0..<count).map { _ in
                let unit = Double.random(in: -1...1, using: &random)
                switch Int.random(in: 0..<40, using: &random) {
                case 0: return "\(unit * 1e-7)"
                case 1: return "\(unit * 1e12)"
                case 2: return "\(Int(unit * 1000))"
                case 3 where !isWhole: return "\"NaN\""
                case 4 where !isWhole: return "null"
                default: return "\(unit)"
                }
            }
        }
        var time = 0.01
        /// Writes all streams for this many hundredths of a second.
        func run(_ count: Int) throws {
            for index in 0..<count {
                try write(names[0], at: time, values(3, allOfThem: true))
                try write(names[1], at: time + 0.002, values(3))
                if index.isMultiple(of: 2) { try write(names[2], at: time + 0.0005, values(4)) }
                time += 0.01
            }
        }
        var gapsOpen: Set<String> = []
        var ends: [String: Int] = [:]
        /// Loses samples of some streams.
        func lose(_ streams: [String], hundredths: Int, reason: Gap.Reason) throws {
            for name in streams {
                let lost = name == names[2] ? hundredths / 2 : hundredths
                guard lost > 0 else { continue }
                try session.gap(name, count: lost, reason: reason, at: time)
                numbers[name, default: 0] += lost
                gapsOpen.insert(name)
            }
            time += Double(hundredths) / 100
        }
        func close() {
            for name in gapsOpen {
                guard let samples = expected.streams[name]?.samples, let length = ends[name], samples.count > length,
                    case .integer(let after)? = samples[length - 1].first,
                    case .integer(let before)? = samples[length].first
                else { continue }
                expected.streams[name]?.gaps.append([after, before])
            }
            gapsOpen = []
        }
        func note() { ends = expected.streams.mapValues(\.samples.count) }

        for (number, hundredths) in [2, 50, 300, 490, 600].enumerated() {
            try run(100)
            note()
            try lose(names, hundredths: hundredths, reason: .notRetained)
            if number == 2 { for name in names { try session.rotate(name, at: time) } }
            try run(4)
            close()
        }
        try session.move(to: "back", at: time)
        try run(200)
        note()
        try session.pause(from: time, to: time + 1, leavingOut: [names[0]: 100, names[1]: 100, names[2]: 50])
        for name in names { numbers[name, default: 0] += name == names[2] ? 50 : 100 }
        gapsOpen = Set(names)
        time += 1
        try run(100)
        close()
        // Only the gyroscope loses samples.
        note()
        for index in 0..<20 {
            try write(names[0], at: time, values(3, allOfThem: true))
            if index.isMultiple(of: 2) { try write(names[2], at: time + 0.0005, values(4)) }
            time += 0.01
        }
        try session.gap(names[1], count: 20, at: time)
        numbers[names[1], default: 0] += 20
        gapsOpen = [names[1]]
        try run(10)
        close()
        try session.finish(at: time)
        // Beside the gap, the nearest gyroscope sample is 8 ms before or 2 ms behind; only the latter is within half an interval,
        // 5 ms.
        expected.imu.without = 20
        return (session, expected)
    }
}
