import Files
import FoundationEssentials
import Messages
import Recording
import SystemPackage
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SessionSummaryTests {
    private func withLog(_ body: (RecordedLog) throws -> Void) throws {
        try withRecordedLog(2) { log in
            try log.samples(4)
            try log.leaveOut(2)
            try log.samples(1)
            try log.gap(3)
            try log.gap(0)
            try body(log)
        }
    }

    @Test func theTableHasWhatWasRecorded() throws {
        try withLog { log in
            try log.finish()
            let summary = try SessionDirectory(at: log.directory.directory.path).summary()
            let bytes = try #require(log.directory.record().logs[0].files.first?.bytes)
            #expect(
                summary.table == """
                    s1, W, "f", finished
                    2026-11-21T02:55:01.123456Z to 2026-11-21T02:55:21.123456Z, 20 s

                    stream      samples  lost  gaps        rate/s  bytes  files
                    phone/gyro        5     3     2  66.67 of 100    \(bytes)  phone_gyro-20261121025501.csv

                    paused from 1 s to 2 s
                    gap in phone/gyro: 3 samples from 7 of epoch E1, notRetained, given up at 2026-11-21T02:55:01.123456Z
                    gap in phone/gyro: an unknown number of samples of epoch E1, from 10 on, notRetained, given up at 2026-11-21T02:55:01.123456Z

                    """)
        }
    }

    @Test func theDocumentIsReadBack() throws {
        try withLog { log in
            try log.finish()
            let summary = try log.directory.summary()
            let bytes = StoredJSON.document(summary)
            let document = String(decoding: bytes, as: UTF8.self)
            #expect(try WireCoding.decode(SessionSummary.self, from: bytes) == summary)
            #expect(document.contains("\n  \"duration\" : 20,\n"))
            #expect(document.contains("\"status\" : \"finished\""))
        }
    }

    /// The journal is newer than the stored record of the session.
    @Test func aSessionThatIsNotOverIsSummedUpTo() throws {
        try withLog { log in
            try log.commit()
            let summary = try log.directory.summary()
            #expect(summary.status == .running)
            #expect(summary.endDate == nil)
            #expect(summary.streams.map(\.samples) == [5])
            #expect(try summary.streams.map(\.bytes) == [bytes(of: log.path).count])
            #expect(summary.streams.map(\.files) == [["phone_gyro.csv"]])
        }
    }

    @Test func aDirectoryWithoutSessionIsAnError() throws {
        try withTemporaryDirectory { data in
            let error = try #require(throws: RecordingError.self) { try SessionDirectory(at: data.path).summary() }
            #expect(error.code == .notFound)
        }
    }
}
