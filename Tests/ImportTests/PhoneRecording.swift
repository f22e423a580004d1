import Compression
import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport

/// A phone's measurements. A session has some of them, and the phone's own export has all.
struct PhoneRecording {
    /// A sample, with its time in nanoseconds since the session's start.
    struct Sample: Hashable {
        var time: Int64
        /// The values' JSON.
        var values: [String]
    }

    struct Sensor {
        /// The name of both the stream and the export's table.
        var stream: String
        var table: String
        var fields: [String]
        var types: [FieldType]?
        var rate: Double
        var samples: [Sample]
    }

    /// Lost samples of a stream: their numbers, and the recorder's estimate of their count.
    struct Loss {
        var range: Range<Int>
        var count: Int
        var reason = Gap.Reason.notRetained

        init(_ range: Range<Int>, count: Int? = nil, reason: Gap.Reason = .notRetained) {
            self.range = range
            self.count = count ?? range.count
            self.reason = reason
        }
    }

    /// The phone's clock is this many nanoseconds ahead.
    static let ahead: Int64 = 312_345_678
    /// Samples before the session's start and after its end that only the phone has.
    static let around = 50

    var sensors: [Sensor]

    /// - Parameters:
    ///   - seconds: the session's duration.
    ///   - scale: factor for all values, so that another phone's differ.
    init(seconds: Int = 8, scale: Double = 1) {
        func sensor(
            _ stream: String, _ table: String, rate: Int, fields: [String] = ["x", "y", "z"], types: [FieldType]? = nil,
            _ values: (Int) -> [String]
        ) -> Sensor {
            let interval = 1_000_000_000 / Int64(rate)
            let samples = (-Self.around..<(seconds * rate + Self.around)).map { index in
                // Real sensors are irregular too.
                let jitter = Int64((index * 7_919 + 104_729) % 9_973) * 20
                return Sample(time: Int64(index) * interval + interval / 3 + jitter, values: values(index))
            }
            return Sensor(
                stream: stream, table: table, fields: fields, types: types, rate: Double(rate), samples: samples)
        }
        func wave(_ index: Int, _ phase: Double) -> String {
            "\(scale * (sin(Double(index) * 0.37 + phase + 0.1) * 3.25 + Double(index % 17) / 64))"
        }
        sensors = [
            sensor("accelerometer", "TotalAcceleration", rate: 100) {
                [wave($0, 0), wave($0, 1), "\(scale * 9.5 + (Double(wave($0, 2)) ?? 0) / 8)"]
            },
            sensor("gyroscope", "Gyroscope", rate: 50) { [wave($0, 3), wave($0, 4), wave($0, 5)] },
            sensor("annotation", "Annotation", rate: 10, fields: ["duration", "text"], types: [.number, .text]) {
                ["\($0 * 3)", "\"label \($0), \\\"quoted\\\"\""]
            },
        ]
    }

    /// The samples of a sensor that belong to the session.
    func own(_ stream: String) -> [Sample] {
        sensors.first { $0.stream == stream }.map { $0.samples.dropFirst(Self.around).dropLast(Self.around) }.map(
            Array.init)
            ?? []
    }

    // MARK: The session

    /// Makes the session from the samples that arrived.
    /// - Parameter turnsColumns: whether each stream has its columns in reverse order until its files are rotated.
    func session(
        in data: FilePath, _ name: String = "walk-1", format: LogFormat = .json, device: String = "phone",
        losing losses: [String: [Loss]], rotatingAt rotation: Int? = nil, turnsColumns: Bool = false,
        status: SessionStatus = .finished
    ) throws -> SessionDirectory {
        func former<Column>(_ columns: [Column]) -> [Column] { turnsColumns ? columns.reversed() : columns }
        let made = try MadeSession(in: data, name)
        for sensor in sensors {
            let stream = "\(device)/\(sensor.stream)"
            try made.add(
                stream, fields: former(sensor.fields), types: sensor.types.map { [.number] + former($0) }, unit: nil,
                rate: sensor.rate, format: format)
        }
        try made.move(to: "back", at: 3.5)
        for sensor in sensors {
            let stream = "\(device)/\(sensor.stream)"
            let lost = losses[sensor.stream] ?? []
            for (index, sample) in own(sensor.stream).enumerated() {
                for loss in lost where loss.range.lowerBound == index {
                    try made.gap(stream, count: loss.count, reason: loss.reason, at: Double(sample.time) / 1e9)
                }
                if index == rotation {
                    try made.change(
                        stream, to: sensor.fields, types: sensor.types.map { [.number] + $0 },
                        at: Double(sample.time) / 1e9)
                }
                if lost.contains(where: { $0.range.contains(index) }) { continue }
                let values = index < (rotation ?? 0) ? former(sample.values) : sample.values
                try made.sample(stream, Double(sample.time) / 1e9, values.joined(separator: ","))
            }
        }
        let end = Double(sensors.flatMap { own($0.stream).map(\.time) }.max() ?? 0) / 1e9 + 0.001
        if status == .finished { try made.finish(at: end) } else { try made.store() }
        return made.directory
    }

    // MARK: The export

    private static func time(_ sample: Sample) -> String {
        "\((MadeSession.startDate?.nanosecondsSince1970 ?? 0) + sample.time + ahead)"
    }

    /// A value as in the export, where all values are text.
    private static func text(_ value: String) -> String {
        guard value.hasPrefix("\"") else { return value }
        return String(value.dropFirst().dropLast()).replacing("\\\"", with: "\"")
    }

    /// The tables of the export, by name.
    /// - Parameter range: the sample numbers to include, as in `own`.
    func tables(_ range: Range<Int>? = nil, without left: Set<String> = []) -> [(name: String, text: String)] {
        var tables = [
            ("Metadata", "version,device name,platform,standardisation\n3,Somebody's phone,android,false\n")
        ]
        for sensor in sensors where !left.contains(sensor.table) {
            var text = "time,seconds_elapsed,\(sensor.fields.reversed().joined(separator: ","))\n"
            for sample in samples(of: sensor, in: range) {
                let cells = sample.values.reversed().map { value in
                    value.hasPrefix("\"") ? "\"\(Self.text(value).replacing("\"", with: "\"\""))\"" : value
                }
                text += "\(Self.time(sample)),\(Double(sample.time) / 1e9),\(cells.joined(separator: ","))\n"
            }
            tables.append((sensor.table, text))
        }
        return tables
    }

    private func samples(of sensor: Sensor, in range: Range<Int>?) -> [Sample] {
        guard let range else { return sensor.samples }
        let numbers = (range.lowerBound + Self.around)..<(range.upperBound + Self.around)
        return Array(sensor.samples[numbers.clamped(to: sensor.samples.indices)])
    }

    /// A zip with one table per sensor.
    func csv(_ range: Range<Int>? = nil, without left: Set<String> = []) -> [UInt8] {
        StoredZip(tables(range, without: left).map { ("\($0.name).csv", Array($0.text.utf8)) }).bytes
    }

    /// One array of objects.
    func json(_ range: Range<Int>? = nil) -> [UInt8] {
        var objects = [#"{"sensor":"Metadata","version":"3","platform":"android"}"#]
        for sensor in sensors {
            for sample in samples(of: sensor, in: range) {
                let values = zip(sensor.fields, sample.values).map { field, value in
                    "\"\(field)\":\(value.hasPrefix("\"") ? value : "\"\(value)\"")"
                }
                objects.append(
                    #"{"sensor":"\#(sensor.table)","time":"\#(Self.time(sample))","seconds_elapsed":"1",\#(values.joined(separator: ","))}"#
                )
            }
        }
        return Array("[\(objects.joined(separator: ",\n"))]".utf8)
    }
}
