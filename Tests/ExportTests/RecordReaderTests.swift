import Export
import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Streams of records and annotations, read by other projects' readers.
@Suite(.timeLimit(.minutes(4)))
struct RecordReaderTests {
    /// The values with which Readers/values.py compares.
    private struct Expected: Codable {
        var session = "s1"
        var task = "Walk"
        var start: Int
        var types: [String: String]
        var streams: [String: [[JSONValue]]] = [:]
        var annotations: [Note] = []
    }

    private struct Note: Codable {
        var label: String
        /// Nanoseconds since the start.
        var at: Int
        /// Seconds.
        var duration: Double?
        var stream: String?
        var note: String?
    }

    /// In the order in which a dictionary is encoded.
    private static let fields = ["count", "isMoving", "label", "nested", "when"]
    private static let types: [FieldType] = [.number, .boolean, .text, .json, .date]

    /// The JSON of each field: what people write, and what readers misread.
    private static let rows = [
        ["1", "true", #""walk""#, #"{"a":[1,2.5,null,"x"],"b":{"c":false}}"#, #""2026-11-21T10:00:00Z""#],
        ["-2.5e-7", "false", #""a, \"b\"\tand\nc""#, "[]", #""2026-11-21T11:00:00.123456789+01:00""#],
        ["null", "null", "null", "null", "null"],
        ["3", "true", #""""#, #""""#, #""2026-11-21""#],
        // Text that looks like other types.
        ["4", "false", #""5""#, #""6""#, #""7""#], ["5", "true", #""-1e3""#, "7", #""""#],
        ["6", "true", #""true""#, "true", #""null""#], ["7", "false", #""null""#, #""null""#, #""x""#],
        ["8", "true", #""äöü 漢字 \ud83d\ude00 \\ /""#, #"{"ü":"\u00e9\n"}"#, #""2026-11-21T10:00:00Z""#],
        ["9", "false", #"" blanks  at both ends ""#, #"[[[["deep"]]]]"#, #"";""#],
        ["10", "true", #""\r\n""#, #"" ""#, #""'""#], ["11", "true", #""{\"a\":1}""#, "-0.5", #""[1]""#],
    ]

    @Test(.enabled(if: Readers.areInstalled, "\(Readers.need)"))
    func everyValueAndAnnotationIsReadByEveryReader() async throws {
        try await withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory.appending("data"))
            var expected = Expected(
                start: Int(session.record.startDate.nanosecondsSince1970),
                types: Dictionary(uniqueKeysWithValues: zip(Self.fields, Self.types.map(\.rawValue))))
            let formats: [(String, LogFormat)] = [
                ("phone/notes", .json), ("left-wrist/notes", .csv), ("chest/notes", .tsv),
            ]
            for (name, format) in formats {
                try session.add(
                    name, fields: Self.fields, types: [.number] + Self.types, unit: nil, rate: nil, format: format)
                expected.streams[name] = []
            }
            for (index, row) in Self.rows.enumerated() {
                for (name, _) in formats {
                    try session.sample(name, Double(index) / 4, row.joined(separator: ","))
                    let values = try row.map { try WireCoding.decode(JSONValue.self, from: Array($0.utf8)) }
                    expected.streams[name]?.append([.integer(index * 250_000_000)] + values)
                }
            }
            try session.finish(at: 4)
            for (index, note) in Self.notes.enumerated() {
                func date(_ nanoseconds: Int) -> WallTime {
                    WallTime(nanosecondsSince1970: session.record.startDate.nanosecondsSince1970 + Int64(nanoseconds))
                }
                try session.directory.add(
                    Annotation(
                        number: index + 1, label: note.label, from: date(note.at),
                        to: note.duration.map { date(note.at + Int($0 * 1e9)) },
                        stream: note.stream.flatMap { StreamName($0) }, note: note.note, date: date(5_000_000_000)))
            }
            expected.annotations = Self.notes
            let out = directory.appending("out")
            for format in SessionExport.Format.allCases {
                _ = try Exported(session.directory, to: out.appending(format.rawValue), format) {
                    $0.clock = format == .xdf ? .recorder : .utc
                }
            }
            let file = directory.appending("expected.json")
            try Data(WireCoding.encode(expected)).write(to: URL(filePath: file.string))
            let paths = ["csv", "bids", "mcap", "xdf"].map { out.appending($0).string }
            let output = try await Readers.run("values.py", paths + [file.string])
            #expect(output.contains("values: 36 records, 3 annotations"), "\(output)")
        }
    }

    private static let notes = [
        Note(label: "walk", at: 500_000_000, duration: 1.25, note: "on \"grass\", twice\nand then"),
        Note(label: "fall", at: 1_000_000_000, stream: "phone/notes"),
        Note(label: "größer 🚶", at: 2_000_000_000, duration: 0.5),
    ]
}
