import FoundationEssentials
import Messages
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SessionDirectoryTests {
    private func record(_ name: String) throws -> SessionRecord {
        var record = SessionRecord(
            session: try SessionIdentifier(name), task: "walk", step: "outbound",
            streams: ["phone/gyro", "left-wrist/"],
            format: .json, root: .dictionary, status: .running,
            startDate: try WallTime(iso8601: "2026-11-21T02:55:01.123456Z"),
            limits: .init(maximumFileSize: 1_000_000, duration: 60))
        record.steps = [
            .init(date: try WallTime(iso8601: "2026-11-21T02:55:11.123456Z"), timestamp: 10, step: "rest")
        ]
        record.pauses = [.init(from: 1.5, to: 2.5), .init(from: 3)]
        record.logs = [
            .init(
                name: LogName("phone_gyro"), device: "phone", stream: "gyro", fields: ["uptime", "x", "y", "z"],
                unit: "rad/s",
                epochs: [.init(epoch: "E1", clock: ClockReading(uptime: 12.5, date: record.startDate))],
                file: "phone_gyro.json",
                files: [.init(name: "phone_gyro-20261121025501.json", bytes: 1234, samples: 10, sha256: "00ff")])
        ]
        return record
    }

    @Test func aRecordIsReadBackAsItWasWritten() throws {
        try withTemporaryDirectory { data in
            var record = try record("s1")
            let directory = try SessionDirectory.create(record.session, in: data.path.appending("data"))
            try directory.write(record)
            #expect(try directory.record() == record)
            record.status.rise(to: .finished)
            record.endDate = record.startDate
            try directory.write(record)
            let opened = try SessionDirectory.open(record.session, in: data.path.appending("data"))
            #expect(try opened.record() == record)
            #expect(opened == directory)
            #expect(try directory.directory.names() == ["session.json"])
            #expect(directory.directory.path == data.path.appending("data/recordings/s1"))
            #expect(directory.relativePath(of: "x.json") == "recordings/s1/x.json")
        }
    }

    @Test func theRecordIsForPeopleToo() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            try directory.write(record("s1"))
            let text = try text(of: data.path.appending("recordings/s1/session.json"))
            #expect(text.contains("\n  \"schema\" : \"session.v1\",\n  \"session\" : \"s1\",\n"))
            #expect(text.contains("\"status\" : \"running\""))
            #expect(text.contains("\"phone/gyro\""))
            #expect(text.contains("\"startDate\" : \"2026-11-21T02:55:01.123456Z\""))
            #expect(text.hasSuffix("}\n"))
        }
    }

    @Test func aSessionsNameIsUsedOnce() throws {
        try withTemporaryDirectory { data in
            let session = try SessionIdentifier("s1")
            _ = try SessionDirectory.create(session, in: data.path)
            let error = try #require(throws: RecordingError.self) {
                try SessionDirectory.create(session, in: data.path)
            }
            #expect(error.code == .alreadyExists)
        }
    }

    @Test func sessionsAreListedByName() throws {
        try withTemporaryDirectory { data in
            #expect(try SessionDirectory.sessions(in: data.path.appending("nowhere")) == [])
            for name in ["b", "a", "c"] {
                try SessionDirectory.create(SessionIdentifier(name), in: data.path).write(record(name))
            }
            // Neither a directory without record nor a stray file is a session.
            _ = try SessionDirectory.create(SessionIdentifier("empty"), in: data.path)
            try Data().write(to: URL(filePath: data.path.appending("recordings/file").string))
            try Directory(data.path.appending("recordings/not a session")).create()
            #expect(try SessionDirectory.sessions(in: data.path).map(\.text) == ["a", "b", "c"])
        }
    }

    @Test func aSessionThatIsNotThereIsNotFound() throws {
        try withTemporaryDirectory { data in
            let error = try #require(throws: RecordingError.self) {
                try SessionDirectory.open(SessionIdentifier("s1"), in: data.path)
            }
            #expect(error.code == .notFound)
        }
    }

    @Test func aRecordThatSomebodySpoiledIsAnErrorAndNoCrash() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            try directory.write(record("s1"))
            let file = URL(filePath: data.path.appending("recordings/s1/session.json").string)
            let whole = try Data(contentsOf: file)
            for length in stride(from: 0, to: whole.count - 1, by: 7) {
                try whole.prefix(length).write(to: file)
                let error = try #require(throws: RecordingError.self) { try directory.record() }
                #expect(error.code == .unreadable)
            }
            let spoiled = String(decoding: whole, as: UTF8.self).replacing("\"phone_gyro\"", with: "\"../../phone\"")
            try Data(spoiled.utf8).write(to: file)
            #expect(throws: RecordingError.self) { try directory.record() }
        }
    }

    @Test func whatAKilledProgramLeftDoesNotHinderTheNext() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            try Data("{".utf8).write(to: URL(filePath: data.path.appending("recordings/s1/.session.json.new").string))
            try directory.write(record("s1"))
            #expect(try directory.record() == record("s1"))
            #expect(try directory.directory.names() == ["session.json"])
        }
    }

    @Test func reportsAreReadBack() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            #expect(try #require(throws: RecordingError.self) { try directory.report() }.code == .notFound)
            let report = SessionReport.sample
            try directory.write(report)
            #expect(try directory.report() == report)
        }
    }
}
