import Files
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Which finished files a session with a ring removes, and how it removes them.
@Suite(.timeLimit(.minutes(5)))
struct FileRingTests {
    private static let start = WallTime(seconds: 1_795_219_200)

    private static func date(_ seconds: Double) -> WallTime { WallTime(seconds: start.seconds + seconds) }

    private static func moment(_ seconds: Double, monotonic: Int64 = 0) -> Moment {
        Moment(monotonic: monotonic * 1_000_000_000, date: date(seconds))
    }

    private static func time(_ from: Double, _ to: Double) -> KeptTime { KeptTime(from: date(from), to: date(to)) }

    /// A file that was finished `finished` seconds after the start, with the samples of the hour before.
    private static func file(_ finished: Double, hasTimes: Bool = true) throws -> (log: LogName, file: FinishedFile) {
        let log = LogName(device: "phone", stream: "gyro")
        let name = FinishedName(log: log, finishedAt: date(finished), after: nil, format: .json)
        var file = FinishedFile(name: name.description, bytes: 3, samples: 1, sha256: "")
        if hasTimes { (file.from, file.to) = (finished - 3_600, finished - 0.01) }
        return (log, file)
    }

    private static func ring(keep: Double?, kept: [KeptTime] = []) throws -> FileRing? {
        var record = SessionRecord(
            session: try SessionIdentifier("s"), task: "", step: "", streams: ["*"], format: .json, root: .array,
            status: .running, startDate: start, limits: SessionRecord.Limits(keep: keep))
        record.kept = kept
        return FileRing(record)
    }

    @Test func timesThatTouchBecomeOne() {
        var kept: [KeptTime] = []
        #expect(kept.insert(Self.time(100, 200)) == Self.time(100, 200))
        #expect(kept.insert(Self.time(300, 400)) == Self.time(300, 400))
        #expect(kept.insert(Self.time(10, 20)) == Self.time(10, 20))
        #expect(kept == [Self.time(10, 20), Self.time(100, 200), Self.time(300, 400)])
        #expect(kept.insert(Self.time(150, 300)) == Self.time(100, 400))
        #expect(kept == [Self.time(10, 20), Self.time(100, 400)])
        #expect(kept.insert(Self.time(200, 250)) == Self.time(100, 400))
        #expect(kept.count == 2)
    }

    @Test func aFileIsOldByTheSecondOfItsName() throws {
        let ring = try #require(try Self.ring(keep: 86_400))
        let (log, file) = try Self.file(3_600.5)
        #expect(!ring.isExpired(file, of: log, at: Self.moment(90_000.9)))
        #expect(ring.isExpired(file, of: log, at: Self.moment(90_001)))
        #expect(try Self.ring(keep: nil) == nil)
    }

    @Test func settingTheWallClockDoesNotChangeTheAgeOfAFileOfThisRun() throws {
        let ring = try #require(try Self.ring(keep: 86_400))
        let (log, file) = try Self.file(3_600)
        let jump = 3 * 86_400.0
        #expect(!ring.isExpired(file, of: log, finishedAt: 0, at: Self.moment(jump, monotonic: 60)))
        #expect(!ring.isExpired(file, of: log, finishedAt: 0, at: Self.moment(jump, monotonic: 86_399)))
        #expect(ring.isExpired(file, of: log, finishedAt: 0, at: Self.moment(jump, monotonic: 86_400)))
        #expect(!ring.isExpired(file, of: log, finishedAt: 0, at: Self.moment(-jump, monotonic: 86_399)))
        #expect(ring.isExpired(file, of: log, finishedAt: 0, at: Self.moment(-jump, monotonic: 86_400)))
        #expect(ring.isExpired(file, of: log, at: Self.moment(jump, monotonic: 60)), "an earlier run finished it")
    }

    @Test func aFileWithSamplesOfAKeptTimeStays() throws {
        let (log, file) = try Self.file(7_200)
        func isKept(_ time: KeptTime) throws -> Bool {
            try #require(try Self.ring(keep: 1, kept: [time])).isKept(file, of: log)
        }
        #expect(try isKept(Self.time(5_000, 5_010)))
        #expect(try isKept(Self.time(0, 3_600)))
        #expect(try isKept(Self.time(7_199, 9_000)))
        #expect(try !isKept(Self.time(0, 3_599)))
        #expect(try !isKept(Self.time(7_200, 9_000)))
    }

    @Test func aFileThatWasWrittenInAKeptTimeStaysWhateverItsPublishersClockSays() throws {
        let (log, made) = try Self.file(7_200)
        var file = made
        file.from = -86_400
        file.to = -82_800
        file.begun = 3_600
        file.ended = 7_200
        func isKept(_ time: KeptTime) throws -> Bool {
            try #require(try Self.ring(keep: 1, kept: [time])).isKept(file, of: log)
        }
        #expect(try isKept(Self.time(5_000, 5_010)))
        #expect(try isKept(Self.time(0, 3_600)))
        #expect(try isKept(Self.time(7_200, 9_000)))
        #expect(try !isKept(Self.time(0, 3_599)))
        #expect(try !isKept(Self.time(7_201, 9_000)))
        #expect(try isKept(Self.time(-85_000, -84_990)), "samples of that time stay too")
    }

    @Test func aFileOfUnknownTimesStaysIfItMayHaveSamplesOfAKeptTime() throws {
        let (log, file) = try Self.file(7_200, hasTimes: false)
        func isKept(_ time: KeptTime) throws -> Bool {
            try #require(try Self.ring(keep: 1, kept: [time])).isKept(file, of: log)
        }
        #expect(try isKept(Self.time(0, 10)))
        #expect(try isKept(Self.time(7_201, 9_000)))
        #expect(try !isKept(Self.time(7_202, 9_000)))
    }

    @Test func aRemovalIsListedFirstAndMayBeRepeated() throws {
        try withTemporaryDirectory { data in
            let directory = try SessionDirectory.create(SessionIdentifier("s"), in: data)
            let path = directory.directory.path
            func make(_ name: String, _ text: String) throws -> FinishedFile {
                _ = try OpenFile(creating: path.appending(name), Array(text.utf8))
                return FinishedFile(name: name, bytes: 3, samples: 1, sha256: "")
            }
            let files = [
                try make("phone_gyro-20261101000000.json", "[]\n"),
                try make("phone_gyro-20261101000001.json", "[] \n"),
                FinishedFile(name: "phone_gyro-20261101000002.json", bytes: 3, samples: 1, sha256: ""),
            ]
            // The state left by a recorder that is killed after it lists the removal and before it removes the file.
            let line = RemovedFile(name: files[0].name, bytes: 3, reason: RemovedFile.ring, date: Self.start)
            try RemovedFile.append([line], in: directory.directory)
            for _ in 0..<2 {
                let refused = try directory.remove(files, reason: RemovedFile.ring, at: Self.start)
                #expect(refused == [files[1].name: "it was changed", files[2].name: "it is missing"])
            }
            #expect(!directory.directory.contains(files[0].name))
            #expect(directory.directory.contains(files[1].name))
            let listed = try RemovedFile.read(in: directory.directory)
            #expect(Set(listed.map(\.name)) == [files[0].name])
        }
    }
}
