import Export
import Files
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// People's annotations, in every format.
@Suite(.timeLimit(.minutes(1)))
struct AnnotationTests {
    private static func made(in data: FilePath) throws -> MadeSession {
        let session = try MadeSession(in: data)
        try session.add("left-wrist/accelerometer")
        try session.add("phone/accelerometer")
        for name in ["left-wrist/accelerometer", "phone/accelerometer"] {
            for index in 0..<5 { try session.sample(name, Double(index) / 2, "0,0,1") }
        }
        try session.finish(at: 3)
        let start = session.record.startDate
        func time(_ seconds: Double) -> WallTime {
            WallTime(nanosecondsSince1970: start.nanosecondsSince1970 + Int64(seconds * 1e9))
        }
        let notes = [
            Annotation(number: 1, label: "walk", from: time(0.5), to: time(1.75), note: "on grass", date: time(9)),
            Annotation(
                number: 2, label: "fall", from: time(1), stream: StreamName("phone/accelerometer"), date: time(9)),
            Annotation(number: 3, label: "mistake", from: time(1), date: time(9)),
            Annotation(number: 4, label: "", from: time(1), date: time(9), corrects: 3),
        ]
        for note in notes { try session.directory.add(note) }
        return session
    }

    @Test func theyAreATableBesideTheEvents() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), .csv) {
                $0.clock = .recorder
            }
            #expect(
                try exported.text("s1/annotations.tsv") == """
                    from\tto\tlabel\tstream\tnote
                    0.5\t1.75\twalk\t\ton grass
                    1\t\tfall\tphone/accelerometer\t

                    """)
            #expect(try !exported.text("s1/events.tsv").contains("annotation"))
        }
    }

    @Test func eachStreamOfABIDSDataSetHasItsOwn() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            let exported = try Exported(session.directory, to: directory.appending("out"), .bids)
            let names = try exported.files.keys.filter { $0.hasSuffix("_events.tsv") }.sorted()
            #expect(names.count == 2)
            let tables = try names.map { try exported.text($0) }
            for table in tables { #expect(table.contains("0.5\t1.25\tannotation\twalk\tn/a\n")) }
            #expect(tables.count { $0.contains("1\t0\tannotation\tfall\tn/a\n") } == 1)
        }
    }

    @Test func theyAreMessagesAndMarkers() throws {
        try withTemporaryDirectory { directory in
            let session = try Self.made(in: directory)
            for (format, texts) in [
                (
                    SessionExport.Format.mcap,
                    [
                        "walk", "on grass", "1.25}",
                        "fall",
                    ]
                ), (.xdf, ["annotation walk", "annotation fall"]),
            ] {
                let exported = try Exported(session.directory, to: directory.appending(format.rawValue), format)
                let bytes = try exported.files.values.map { $0.map { $0 } }
                for text in texts {
                    let needle = Array(text.utf8)
                    #expect(bytes.contains { $0.contains(needle) }, "\(format): \(text)")
                }
            }
        }
    }
}
