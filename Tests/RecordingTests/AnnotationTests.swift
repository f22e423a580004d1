import Files
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Annotations that people add to sessions.
@Suite(.timeLimit(.minutes(5)))
struct AnnotationTests {
    private static let start = WallTime(nanosecondsSince1970: 1_800_000_000_000_000_000)

    private static func time(_ seconds: Double) -> WallTime {
        WallTime(nanosecondsSince1970: start.nanosecondsSince1970 + Int64(seconds * 1e9))
    }

    private func record(end: Double? = nil) throws -> SessionRecord {
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: ["wrist/"], format: .json, root: .array,
            status: end == nil ? .running : .finished, startDate: Self.start)
        record.endDate = end.map(Self.time)
        return record
    }

    private func request(
        _ label: String, from: Double? = nil, to: Double? = nil, stream: String? = nil, corrects: Int? = nil
    ) -> RecordingAnnotate {
        RecordingAnnotate(
            session: "s", label: label, from: from.map(Self.time), to: to.map(Self.time),
            stream: stream.flatMap { StreamName($0) }, corrects: corrects)
    }

    @Test func oneWithoutATimeIsOfTheTimeAtWhichItArrives() throws {
        let (annotation, isNew) = try record().annotation(request("fall"), known: [], at: Self.time(3))
        #expect(isNew)
        #expect(annotation == Annotation(number: 1, label: "fall", from: Self.time(3), date: Self.time(3)))
    }

    @Test func theSameWithTheSameTimeIsKeptOnce() throws {
        let record = try record()
        let (first, _) = try record.annotation(request("fall", from: 1), known: [], at: Self.time(3))
        let again = try record.annotation(request("fall", from: 1), known: [first], at: Self.time(4))
        #expect(again.annotation == first)
        #expect(!again.isNew)
        #expect(try record.annotation(request("sit", from: 1), known: [first], at: Self.time(4)).isNew)
        #expect(try record.annotation(request("fall"), known: [first], at: Self.time(1)).isNew)
    }

    @Test func aCorrectionStandsBesideWhatItCorrects() throws {
        let record = try record()
        let (first, _) = try record.annotation(request("fall", from: 1, to: 2), known: [], at: Self.time(3))
        let (second, _) = try record.annotation(request("sit", corrects: 1), known: [first], at: Self.time(4))
        #expect(second.number == 2)
        #expect((second.from, second.to) == (Self.time(1), Self.time(2)), "it is about the same time")
        #expect(Annotation.valid(in: [first, second]) == [second])
        let (third, _) = try record.annotation(request("", corrects: 2), known: [first, second], at: Self.time(5))
        #expect(Annotation.valid(in: [first, second, third]) == [])
    }

    @Test func whatIsWrongIsRefused() throws {
        let over = try record(end: 10)
        let wrong = [
            request(""), request("fall", from: -1), request("fall", from: 11), request("fall", from: 3, to: 2),
            request("fall", corrects: 1), request("fall", from: 1, stream: "phone/gyro"),
            request(String(repeating: "x", count: 257), from: 1),
        ]
        for request in wrong {
            #expect(throws: RequestError.self, "\(request)") {
                try over.annotation(request, known: [], at: Self.time(12))
            }
        }
        #expect(
            try over.annotation(request("fall", from: 10, stream: "wrist/gyro"), known: [], at: Self.time(12)).isNew)
        let many = (1...SessionRecord.maximumAnnotations).map {
            Annotation(number: $0, label: "x", from: Self.start, date: Self.start)
        }
        #expect(throws: RequestError.self) {
            try over.annotation(request("fall", from: 1), known: many, at: Self.start)
        }
    }

    @Test func whatIsAddedToAFinishedSessionIsCoveredByItsHashes() throws {
        try withRecordedLog(0) { log in
            try log.samples(2)
            try log.finish()
            let directory = log.directory
            let start = log.record.startDate
            for number in 1...3 {
                try directory.add(Annotation(number: number, label: "a\(number)", from: start, date: start))
                #expect(directory.verify().findings == [])
            }
            #expect(try directory.annotations(of: directory.record()).map(\.label) == ["a1", "a2", "a3"])
            #expect(try directory.summary().table.contains("annotation 2 at 0 s: a2"))

            // If the file ends anywhere between a line and its hash, the session is not damaged.
            let path = directory.directory.path.appending(SessionDirectory.annotationsName)
            let lines = try directory.directory.read(SessionDirectory.annotationsName)
            for count in [1, 20] {
                try write(lines + Array(lines[..<count]), to: path)
                #expect(directory.verify().verdict == .whole)
            }
            try directory.add(Annotation(number: 4, label: "a4", from: start, date: start))
            #expect(directory.verify().findings == [])
            #expect(try directory.annotations(of: directory.record()).count == 4)

            // A completely written line must not change.
            var changed = try directory.directory.read(SessionDirectory.annotationsName)
            changed[12] ^= 1
            try write(changed, to: path)
            #expect(directory.verify().verdict == .damaged)
        }
    }
}
