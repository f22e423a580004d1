import Files
import Messages
import Recording
import SessionOverview
import SystemPackage
import Testing
import TestSupport

@Suite(.timeLimit(.minutes(1)))
struct StreamOverviewTests {
    @Test func timesWithoutSamplesAreNoTimesBetweenSamples() throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data)
            let name = "phone/gyro"
            try session.add(name)
            try session.samples(name, from: 0, count: 100) { _ in "0,0,0" }
            try session.pause(from: 1, to: 60, leavingOut: [name: 5_900])
            try session.samples(name, from: 60.5, count: 100) { _ in "0,0,0" }
            try session.beginEpoch(name, "E2", at: 100)
            try session.samples(name, from: 100, count: 100) { _ in "0,0,0" }
            try session.gap(name, count: 1_000, at: 101)
            try session.samples(name, from: 111, count: 50) { _ in "0,0,0" }
            // Rotating a file interrupts nothing.
            try session.rotate(name, at: 111.5)
            try session.samples(name, from: 111.5, count: 50) { _ in "0,0,0" }
            try session.finish(at: 112)
            let record = try session.directory.record()
            let overview = try StreamOverview(record.logs[0], of: record, in: session.directory)
            #expect(overview.samples == 400)
            #expect(overview.damage == [])
            let bins = overview.intervals.bins
            #expect(bins.reduce(0) { $0 + $1.count } == 4 * 99)
            #expect(bins.allSatisfy { $0.to < 0.02 }, "\(bins)")
            // Only lost samples form a gap.
            #expect(overview.gaps.count == 1)
        }
    }

    @Test(arguments: LogFormat.allCases)
    func samplesOfAllColumnsThatAStreamHadAreInItsOverview(_ format: LogFormat) throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data)
            let name = "phone/weather"
            try session.add(name, fields: ["hum", "dew"], format: format)
            try session.samples(name, from: 0, count: 100) { _ in "40,10" }
            try session.change(name, to: ["temp", "hum"], at: 1)
            try session.samples(name, from: 1, count: 100) { _ in "20,41" }
            try session.finish(at: 2)
            let record = try session.directory.record()
            let overview = try StreamOverview(record.logs[0], of: record, in: session.directory)
            #expect(overview.samples == 200)
            #expect(overview.fields == ["temp", "hum", "dew"])
            #expect(overview.damage == [])
        }
    }

    @Test(arguments: [(0, "an unknown number of"), (5, "at least 5")])
    func aPageReportsThatTheSizeOfAGapIsUnknown(_ known: Int, _ amount: String) throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data)
            let name = "phone/gyro"
            try session.add(name)
            try session.samples(name, from: 0, count: 100) { _ in "0,0,0" }
            if known > 0 { try session.gap(name, count: known, at: 1) }
            try session.gap(name, count: 0, reason: .epochEnded, at: 1)
            try session.beginEpoch(name, "E2", at: 4)
            try session.samples(name, from: 4, count: 100) { _ in "0,0,0" }
            try session.finish(at: 5)
            let page = try SessionPage.html(of: session.directory)
            #expect(page.contains("Not whole: \(amount) samples are lost."))
        }
    }

    @Test func aPageOfASessionWithMissingOrShortenedFilesDoesNotCallItWhole() throws {
        try withTemporaryDirectory { data in
            let session = try MadeSession(in: data)
            let name = "phone/gyro"
            try session.add(name, format: .csv)
            for part in 0..<3 {
                try session.samples(name, from: Double(part), count: 100) { _ in "0,0,0" }
                try session.rotate(name, at: Double(part) + 1)
            }
            try session.finish(at: 4)
            let whole = "Whole: every sample that belongs to the session is in its files."
            #expect(try SessionPage.html(of: session.directory).contains(whole))

            let files = try session.directory.record().logs[0].files
            let path = session.path.appending(files[0].name)
            let rows = try String(decoding: session.directory.directory.read(files[0].name), as: UTF8.self)
                .split(separator: "\n", omittingEmptySubsequences: false)
            // The last row is missing, but the file is still a valid table.
            try Directory(session.path).replace(
                files[0].name, with: Array((rows.dropLast(2) + [""]).joined(separator: "\n").utf8))
            let cut = try SessionPage.html(of: session.directory)
            #expect(!cut.contains(whole) && cut.contains("Damaged") && cut.contains(files[0].name))
            #expect(session.directory.size(of: files[0].name) < files[0].bytes)

            try Directory.removeFile(path)
            let missing = try SessionPage.html(of: session.directory)
            #expect(!missing.contains(whole) && missing.contains("\(files[0].name): it is missing"))

            try RemovedFile.append(
                [RemovedFile(name: files[0].name, bytes: files[0].bytes, reason: "asked", date: .now)],
                in: session.directory.directory)
            let removed = try SessionPage.html(of: session.directory)
            #expect(!removed.contains(whole) && !removed.contains("Damaged"))
            #expect(removed.contains("was whole when it ended. Files removed since then: 1."))
        }
    }
}
