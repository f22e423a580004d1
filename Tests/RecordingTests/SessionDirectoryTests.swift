import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
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
                epochs: [
                    .init(
                        epoch: "E1", clock: ClockReading(uptime: 12.5, date: record.startDate),
                        replay: "tcp://127.0.0.1:5551")
                ],
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
            record.status.advance(to: .finished)
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

    /// A kill between the creation of the directory and of its record must not block the name forever.
    @Test(arguments: [false, true])
    func theDirectoryThatAKilledStartLeftIsUsed(hasBegunRecord: Bool) throws {
        try withTemporaryDirectory { data in
            let left = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            if hasBegunRecord {
                try Data("{".utf8).write(to: URL(filePath: left.directory.path.appending(".session.json.new").string))
            }
            let directory = try SessionDirectory.create(record("s1"), in: data.path)
            #expect(try directory.record() == record("s1"))
            #expect(try directory.directory.names() == ["session.json"])
        }
    }

    /// Recorders of two shards may be asked for sessions of one name at the same moment.
    @Test func theDirectoryThatAnotherProgramIsMakingIsNotUsed() throws {
        try withTemporaryDirectory { data in
            let other = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            let lock = try DirectoryLock.take("s1", in: SessionDirectory.recordings(in: data.path))
            #expect(lock != nil)
            let error = try #require(throws: RecordingError.self) {
                try SessionDirectory.create(record("s1"), in: data.path)
            }
            #expect(error.code == .alreadyExists)
            #expect(try other.directory.names() == [])
            withExtendedLifetime(lock) {}
        }
    }

    @Test(arguments: ["session.json", "phone_gyro.json", ".photo.jpg.new"])
    func aDirectoryThatHasSomethingIsNotUsed(name: String) throws {
        try withTemporaryDirectory { data in
            let left = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            let path = left.directory.path.appending(name)
            try Data("{".utf8).write(to: URL(filePath: path.string))
            let error = try #require(throws: RecordingError.self) {
                try SessionDirectory.create(record("s1"), in: data.path)
            }
            #expect(error.code == .alreadyExists)
            #expect(try text(of: path) == "{")
        }
    }

    @Test func sessionsAreListedByName() throws {
        try withTemporaryDirectory { data in
            #expect(try SessionDirectory.sessions(in: data.path.appending("nowhere")) == [])
            for name in ["b", "a", "c"] {
                try SessionDirectory.create(SessionIdentifier(name), in: data.path).write(record(name))
            }
            // Neither a directory without a record nor a stray file is a session.
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

    @Test func piecesOfAFileMustFollowOnEachOther() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            #expect(try directory.add([1, 2], to: "photo.jpg", at: 0, isLast: false).bytes == 2)
            // The offset comes from another machine and may be any number.
            for offset in [3, SessionDirectory.maximumFileBytes, Int.max] {
                let error = try #require(throws: RecordingError.self) {
                    try directory.add([3], to: "photo.jpg", at: offset, isLast: true)
                }
                #expect(error.code == .invalidParameter)
            }
            #expect(try directory.add([3], to: "photo.jpg", at: 2, isLast: true).bytes == 3)
            #expect(try directory.directory.read("photo.jpg") == [1, 2, 3])
        }
    }

    // MARK: Checksums

    @Test func everyFileHasAChecksum() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            #expect(try directory.checksums() == nil)
            let path = directory.directory.path
            for name in ["session.json", "phone_gyro-20261121025501.json", "b", "a c", "ü", "back\\slash", ".hidden"] {
                try Data(name.utf8).write(to: URL(filePath: path.appending(name).string))
            }
            try Directory(path.appending("directory")).create()
            let known = FinishedFile(
                name: "phone_gyro-20261121025501.json", bytes: 1, samples: 1,
                sha256: String(repeating: "0a", count: 32))
            // Twice: the list must not include itself.
            for _ in 0..<2 { try directory.writeChecksums(known: [known]) }
            #expect(
                try text(of: path.appending("SHA256SUMS")) == """
                    \(try FinishedFile.measure(path.appending("a c")).sha256)  a c
                    3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d  b
                    \(known.sha256)  phone_gyro-20261121025501.json
                    \(try FinishedFile.measure(path.appending("session.json")).sha256)  session.json
                    \(try FinishedFile.measure(path.appending("ü")).sha256)  ü

                    """)
            let checksums = try #require(try directory.checksums())
            #expect(checksums.count == 5)
            #expect(checksums["phone_gyro-20261121025501.json"] == known.sha256)
            #expect(checksums["b"] == "3e23e8160039594a33894f6564e1b1348bbd7a0088d42c4acb73eeaed59c009d")
        }
    }

    @Test(arguments: [
        "x", "00  a", "\(String(repeating: "g", count: 64))  a", "\(String(repeating: "0", count: 64)) a",
    ])
    func linesThatAreNoChecksumsAreAnError(line: String) throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            let path = directory.directory.path.appending("SHA256SUMS")
            try Data("\(String(repeating: "0", count: 64))  a\n\(line)\n".utf8).write(to: URL(filePath: path.string))
            let error = try #require(throws: RecordingError.self) { try directory.checksums() }
            #expect(error.code == .unreadable)
        }
    }

    /// As a character, the mark would take the space or the dot before it.
    @Test func aNameMayBeginWithACombiningMark() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s1"), in: data.path)
            let name = "\u{301}e.jpg"
            #expect(try directory.add([1, 2], to: name, at: 0, isLast: true).bytes == 2)
            #expect(try directory.add([1], to: "\u{301}begun.jpg", at: 0, isLast: false).bytes == 1)
            directory.removeUnfinishedFiles()
            try directory.writeChecksums()
            #expect(try directory.checksums() == [name: FinishedFile.sha256(of: [1, 2])])
            #expect(try Set(directory.directory.names()) == ["SHA256SUMS", name])
        }
    }

    /// Whichever call fails, either the old or the new file is there, whole, and no other file.
    @Test(arguments: [Faults.Call.write, .syncAll, .rename])
    func aReplacementThatFailsLeavesAWholeFile(call: Faults.Call) throws {
        let whole = try record("s1")
        var other = whole
        other.task = "another"
        for number in 1...2 {
            try withTemporaryDirectory { data in
                let directory = try SessionDirectory.create(whole.session, in: data.path)
                try directory.write(whole)
                let faults = Faults()
                let isDone: Void? = try? directory.write(other, calls: faults.failing(call, number: number))
                let isOver = faults.count(of: call) < number
                #expect((isDone != nil) == isOver)
                // If only the sync of the directory failed, the new file is there.
                let isNew = isOver || (call == .syncAll && number == 2)
                #expect(try directory.record() == (isNew ? other : whole))
                #expect(try directory.directory.names() == ["session.json"])
            }
        }
    }
}
