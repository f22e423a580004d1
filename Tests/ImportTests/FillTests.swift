import Archives
import Export
import Files
import Foundation
import Import
import Messages
import Recording
import SessionOverview
import StepDetection
import StepRecordings
import Synchronization
import SystemPackage
import TestSupport
import Testing

/// Fills a session's gaps from the phone's own recording.
@Suite(.timeLimit(.minutes(5)))
struct FillTests {
    private typealias Loss = PhoneRecording.Loss

    /// Gaps in every place: at the beginning and the end, in succession, across a step and across a change of files.
    private static let losses: [String: [Loss]] = [
        "accelerometer": [
            Loss(0..<3), Loss(40..<52), Loss(52..<60, reason: .publisherUnreachable), Loss(200..<201),
            Loss(330..<371, reason: .estimated), Loss(790..<800),
        ],
        "gyroscope": [Loss(100..<125)],
        "annotation": [Loss(30..<33), Loss(50..<51)],
    ]
    private static let date = WallTime(nanosecondsSince1970: 1_800_000_000_000_000_000)

    private static func write(_ bytes: [UInt8], to path: FilePath) throws {
        try Data(bytes).write(to: URL(filePath: path.string))
    }

    private static func fill(
        _ session: SessionDirectory, from export: FilePath, calls: FileCalls = .system,
        _ change: (inout SessionFill.Options) -> Void = { _ in }
    ) throws(RecordingError) -> SessionFill.Outcome {
        var options = SessionFill.Options()
        change(&options)
        return try SessionFill(session.directory.path, options, version: "0", date: date, calls: calls)
            .run(from: PhoneExport(export))
    }

    /// The samples of a stream as any reader sees them: nanoseconds since the session's start, and the values as JSON.
    private static func samples(
        of stream: String, in session: SessionDirectory
    ) throws -> [(sample: PhoneRecording.Sample, sequence: Int, isFilled: Bool, step: String)] {
        let record = try session.record()
        let log = try #require(record.logs.first { $0.stream == stream })
        var reader = try StreamReader(log, of: record, in: session)
        var samples: [(sample: PhoneRecording.Sample, sequence: Int, isFilled: Bool, step: String)] = []
        while let item = try reader.next() {
            guard case .sample = item else { continue }
            var sample = PhoneRecording.Sample(time: 0, values: [])
            var step = ""
            reader.withSample { bytes, timestamp, values in
                sample.time = Int64(
                    ((DecimalParser.parse(UnsafeRawBufferPointer(rebasing: bytes[timestamp])) ?? .nan) * 1e9).rounded())
                for (index, value) in values.enumerated() {
                    let cell = UnsafeRawBufferPointer(rebasing: bytes[value])
                    if reader.format.isTable, log.types.map({ $0[index + 1] == .text }) ?? false {
                        let text = TableText.unquoted(cell).replacing("\"", with: "\\\"")
                        sample.values.append("\"\(text)\"")
                    } else {
                        sample.values.append(String(decoding: cell, as: UTF8.self))
                    }
                }
                step = String(decoding: bytes, as: UTF8.self).contains("Walk/back") ? "back" : "out"
            }
            samples.append((sample, reader.sequence, reader.isFilled, step))
        }
        return samples
    }

    static func files(_ session: SessionDirectory) throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for name in try session.directory.names() { files[name] = try session.directory.read(name) }
        return files
    }

    /// The format of the phone's export.
    enum Form: CaseIterable { case csvZip, jsonZip, json, directory }

    private static func write(_ phone: PhoneRecording, _ form: Form, in directory: FilePath) throws -> FilePath {
        switch form {
        case .csvZip: try write(phone.csv(), to: directory.appending("export.zip"))
        case .jsonZip:
            try write(
                StoredZip([("walk.json", phone.json()), ("photo.jpg", [1])]).bytes,
                to: directory.appending("export.zip"))
        case .json:
            try write(phone.json(), to: directory.appending("export.json"))
            return directory.appending("export.json")
        case .directory:
            let path = directory.appending("export")
            try Directory(path).create()
            for table in phone.tables() { try write(Array(table.text.utf8), to: path.appending("\(table.name).csv")) }
            return path
        }
        return directory.appending("export.zip")
    }

    // MARK: Filling

    @Test(arguments: LogFormat.allCases)
    func aStreamWhoseColumnsChangedIsFilledInByTheirNames(_ format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(
                in: directory, format: format, losing: Self.losses, rotatingAt: 60, turnsColumns: true)
            let outcome = try Self.fill(session, from: Self.write(phone, .json, in: directory))
            #expect(outcome.remainingGaps == 0)
            for sensor in phone.sensors {
                let found = try Self.samples(of: sensor.stream, in: session)
                #expect(found.map(\.sample) == phone.own(sensor.stream), "\(sensor.stream)")
            }
        }
    }

    @Test(arguments: Form.allCases, LogFormat.allCases)
    func everyLostSampleIsFilledIn(_ form: Form, _ format: LogFormat) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, format: format, losing: Self.losses, rotatingAt: 60)
            #expect(session.verify().verdict == .loss)
            let before = try Self.files(session)
            let export = try Self.write(phone, form, in: directory)
            let outcome = try Self.fill(session, from: export)
            let notes = outcome.streams.flatMap(\.notes)
            #expect(notes.isEmpty, "\(notes)")
            #expect(outcome.samples == 75 + 25 + 4)
            #expect(outcome.remainingGaps == 0)
            let verification = session.verify()
            #expect(verification.verdict == .whole, "\(verification.findings)")
            #expect(
                verification.findings.map(\.text).contains { $0.contains("104 lost samples of phone were filled in") })
            for sensor in phone.sensors {
                let truth = phone.own(sensor.stream)
                let found = try Self.samples(of: sensor.stream, in: session)
                #expect(found.map(\.sample) == truth, "\(sensor.stream)")
                #expect(found.map(\.sequence) == Array(truth.indices), "\(sensor.stream)")
                let lost = Set((Self.losses[sensor.stream] ?? []).flatMap(\.range))
                #expect(found.indices.filter { found[$0].isFilled } == lost.sorted(), "\(sensor.stream)")
                #expect(found.allSatisfy { ($0.step == "back") == ($0.sample.time >= 3_500_000_000) })
            }
            // Existing content has not changed, and the earlier documents are kept.
            let after = try Self.files(session)
            for (name, bytes) in before {
                let isDocument = ["session.json", "report.json", "SHA256SUMS"].contains(name)
                let parts = name.split(separator: ".")
                let kept = ([String(parts[0]), "before-fill-1"] + parts.dropFirst().map(String.init)).joined(
                    separator: ".")
                #expect(after[isDocument ? kept : name] == bytes, "\(name)")
                if isDocument { #expect(after[name] != bytes, "\(name)") }
            }
            let names = try Directory(session.directory.path.removingLastComponent()).names()
            #expect(names == ["walk-1"])
            let report = try session.report()
            #expect(report.isWhole)
            #expect(report.streams.map(\.filled) == [75, 25, 4])
            #expect(report.streams.map(\.expected) == [800, 400, 80])
            #expect(report.fills?.map(\.samples) == [104])
        }
    }

    @Test func everyReaderHasTheFilledSamples() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: Self.losses)
            let whole = try phone.session(in: directory.appending("other"), losing: [:])
            _ = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            for format in SessionExport.Format.allCases {
                let outcomes = try [session, whole].map { session in
                    let place = directory.appending("\(format)-\(session.directory.path.string.hashValue)")
                    let outcome = try SessionExport(session, SessionExport.Options(format: format), version: "0")
                        .run(to: place) { _, _, _ in }
                    return (outcome, place)
                }
                #expect(outcomes.map(\.0.hasLoss) == [false, false])
                #expect(outcomes.map(\.0.samples) == [1280, 1280])
                guard format == .csv else { continue }
                func text(_ place: FilePath, _ name: String) throws -> String {
                    try String(contentsOf: URL(filePath: place.appending("walk-1/\(name)").string), encoding: .utf8)
                }
                for table in ["phone_accelerometer.csv", "phone_annotation.csv", "gaps.tsv", "events.tsv"] {
                    #expect(try text(outcomes[0].1, table) == text(outcomes[1].1, table))
                }
                let filled = try text(outcomes[0].1, "filled.tsv").split(separator: "\n").map {
                    $0.split(separator: "\t")
                }
                #expect(
                    filled.dropFirst().map { $0.last.map(String.init) } == ["3", "20", "1", "41", "10", "25", "3", "1"])
                let provenance = try text(outcomes[0].1, "provenance.json")
                #expect(provenance.contains("\"fills\" : ["))
                #expect(throws: (any Error).self) { try text(outcomes[1].1, "filled.tsv") }
            }
            let inputs = try [session, whole].map {
                try CountInput.recordings(inSession: $0.directory.path, streams: ["accelerometer"])
            }
            #expect(inputs.map { $0.flatMap(\.losses) } == [[], []])
            let counts = try inputs.map { try StepCount($0[0]) }
            #expect(counts[0] == counts[1])
            let record = try session.record()
            let overview = try StreamOverview(record.logs[0], of: record, in: session)
            #expect(overview.samples == 800)
            #expect(overview.gaps.isEmpty)
            let page = try SessionPage.html(of: session)
            #expect(page.contains("filled in from export.zip"))
            let summary = try session.summary()
            #expect(summary.streams.map(\.samples) == [800, 400, 80])
            #expect(summary.table.contains("filled 104 samples of phone from export.zip"))
            let archives = Directory(directory.appending("archives"))
            let made = try SessionArchiver().archive(session, to: archives, at: Self.date)
            let files = try #require(made.first).metadata.files
            #expect(files.filter { $0.filled == true }.map(\.samples) == [75, 25, 4])
            #expect(files.allSatisfy { ($0.gaps ?? 0) == 0 })
            #expect(try OpenedArchive.verify(archives.path.appending("walk-1.zip")).findings.isEmpty)
        }
    }

    /// Two sensors whose sum is exactly the recorded one.
    private static func parts(of total: PhoneRecording.Sensor) -> [PhoneRecording.Sensor] {
        func part(_ table: String, _ value: (Double) -> Double) -> PhoneRecording.Sensor {
            var sensor = total
            sensor.table = table
            sensor.samples = total.samples.map { sample in
                var sample = sample
                sample.values = sample.values.map { "\(value(Double($0) ?? 0))" }
                return sample
            }
            return sensor
        }
        return [part("Accelerometer") { $0 - $0.rounded() }, part("Gravity") { $0.rounded() }]
    }

    /// The phone went on for more than ten minutes after its last sample that arrived, past the session's end.
    @Test func aLongGapAtTheEndIsFilledFromTwoTables() throws {
        try withTemporaryDirectory { directory in
            var phone = PhoneRecording(seconds: 70)
            var total = phone.sensors[0]
            total.rate = 10
            for index in total.samples.indices { total.samples[index].time *= 10 }
            phone.sensors = [total]
            let session = try phone.session(
                in: directory, losing: ["accelerometer": [Loss(500..<7_000, count: 0, reason: .estimated)]])
            phone.sensors = Self.parts(of: total)
            let outcome = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            #expect(outcome.samples == 6_500)
            #expect(outcome.remainingGaps == 0)
            let verification = session.verify()
            #expect(verification.verdict == .whole, "\(verification.findings)")
        }
    }

    @Test func anIPhonesAccelerationIsTheSumOfTwoTables() throws {
        try withTemporaryDirectory { directory in
            var phone = PhoneRecording()
            let session = try phone.session(
                in: directory, losing: ["accelerometer": [Loss(100..<140, count: 38, reason: .estimated)]])
            phone.sensors = Self.parts(of: phone.sensors[0])
            let export = try Self.write(phone, .csvZip, in: directory)
            let outcome = try Self.fill(session, from: export)
            #expect(outcome.samples == 40)
            #expect(outcome.streams.flatMap(\.notes).count == 1)
            #expect(session.verify().verdict == .whole)
            let found = try Self.samples(of: "accelerometer", in: session)
            for (one, other) in zip(found, PhoneRecording().own("accelerometer")) {
                #expect(one.sample.time == other.time)
                for (value, lost) in zip(one.sample.values, other.values) {
                    #expect(abs((Double(value) ?? 0) - (Double(lost) ?? 9)) < 1e-12)
                }
            }
            #expect(found.count == 800)
        }
    }

    /// Missing messages have an unknown number of samples: the phone's samples show how many they were.
    @Test(arguments: [35, 41, 52, 0])
    func anEstimateNeedNotBeRight(_ count: Int) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(
                in: directory,
                losing: ["accelerometer": [Loss(300..<341, count: count, reason: .estimated), Loss(500..<502)]])
            let outcome = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            #expect(outcome.samples == 43)
            let notes = outcome.streams.flatMap(\.notes)
            #expect(
                notes
                    == (count == 41
                        ? [] : ["gap from sample 300: the export has 41 samples where \(count) were estimated"]))
            let verification = session.verify()
            #expect(verification.verdict == .whole, "\(verification.findings)")
            let found = try Self.samples(of: "accelerometer", in: session)
            #expect(found.map(\.sample) == phone.own("accelerometer"))
            // The numbers behind the gap are those that were recorded.
            #expect(found.map(\.sequence) == found.map(\.sequence).sorted())
            #expect(found.last?.sequence == 799 + count - 41)
        }
    }

    @Test func whatIsNotInTheExportStaysAGap() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(
                in: directory,
                losing: [
                    "accelerometer": [Loss(100..<120), Loss(300..<350), Loss(600..<640, reason: .estimated)],
                    "gyroscope": [Loss(10..<20)],
                ])
            // The first export begins in one gap and ends in another.
            let first = directory.appending("first.zip")
            try Self.write(phone.csv(310..<620, without: ["Gyroscope"]), to: first)
            let outcome = try Self.fill(session, from: first)
            #expect(outcome.samples == 40 + 20)
            #expect(outcome.remainingGaps == 4)
            let record = try session.record()
            #expect(record.logs[0].gaps.map(\.from) == [100, 300, 620])
            #expect(record.logs[0].gaps.map(\.count) == [20, 10, 20])
            #expect(record.logs[0].gaps.map(\.reason) == [.notRetained, .notRetained, .estimated])
            let notes = outcome.streams.flatMap(\.notes)
            #expect(
                notes == [
                    "gap from sample 100: the export has no samples there",
                    "gap from sample 300: the export has 40 of 50 samples",
                    "gap from sample 600: the export has 20 of 40 samples", "the export has no table for it",
                ])
            let verification = session.verify()
            #expect(verification.verdict == .loss, "\(verification.findings)")
            let truth = phone.own("accelerometer")
            var found = try Self.samples(of: "accelerometer", in: session)
            for one in found { #expect(one.sample == truth[one.sequence]) }
            #expect(found.count == 800 - 50)
            let place = directory.appending("csv")
            let exported = try SessionExport(session, SessionExport.Options(format: .csv), version: "0")
                .run(to: place) { _, _, _ in }
            #expect(exported.hasLoss)
            let gaps = try String(
                contentsOf: URL(filePath: place.appending("walk-1/gaps.tsv").string), encoding: .utf8)
            #expect(
                gaps.split(separator: "\n").dropFirst().map {
                    $0.split(separator: "\t").suffix(2).joined(separator: " ")
                } == ["100 20", "300 10", "620 20", "10 10"])
            // Another export has the rest.
            let second = directory.appending("second.zip")
            try Self.write(phone.csv(), to: second)
            let rest = try Self.fill(session, from: second)
            #expect(rest.samples == 50 + 10)
            #expect(rest.remainingGaps == 0)
            let end = session.verify()
            #expect(end.verdict == .whole, "\(end.findings)")
            found = try Self.samples(of: "accelerometer", in: session)
            #expect(found.map(\.sample) == truth)
            #expect(found.map(\.sequence) == Array(truth.indices))
            #expect(try session.record().fills?.map(\.number) == [1, 2])
            #expect(try session.report().fills?.map(\.samples) == [60, 60])
        }
    }

    @Test func aSampleThatTheExportLacksStaysLost() throws {
        try withTemporaryDirectory { directory in
            var phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: ["accelerometer": [Loss(300..<310)]])
            let truth = phone.own("accelerometer")
            phone.sensors[0].samples.remove(at: PhoneRecording.around + 304)
            _ = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            #expect(try session.record().logs[0].gaps.map(\.from) == [304])
            #expect(session.verify().verdict == .loss)
            for one in try Self.samples(of: "accelerometer", in: session) {
                #expect(one.sample == truth[one.sequence])
            }
        }
    }

    @Test func samplesOfAPauseAreNotFilledIn() throws {
        // The whole pause, with ten samples on each side.
        try expectOnlyThoseBesideThePause { made, stream in try made.gap(stream, count: 120, at: 1) }
    }

    @Test func aGapInAPauseIsNoneOnceItsSamplesAreKnown() throws {
        try expectOnlyThoseBesideThePause { made, stream in
            try made.gap(stream, count: 20, at: 1)
            // All samples of this gap were taken during the pause.
            try made.gap(stream, count: 80, reason: .publisherUnreachable, at: 1.2)
            try made.gap(stream, count: 20, at: 2)
        }
    }

    /// - Parameter later: nanoseconds to add to the samples' times.
    private static func add(
        _ samples: some Sequence<PhoneRecording.Sample>, later: Int64 = 0, to stream: String, of made: MadeSession
    ) throws {
        for sample in samples {
            try made.sample(stream, Double(sample.time + later) / 1e9, sample.values.joined(separator: ","))
        }
    }

    /// A session with the first 100 accelerations of a phone.
    /// - Returns: the session, its stream, and all accelerations.
    private static func sessionOfFirstSamples(
        of phone: PhoneRecording, in directory: FilePath
    ) throws -> (made: MadeSession, stream: String, truth: [PhoneRecording.Sample]) {
        let made = try MadeSession(in: directory, "walk-1")
        let stream = "phone/accelerometer"
        try made.add(stream, unit: nil)
        let truth = phone.own("accelerometer")
        try add(truth[..<100], to: stream, of: made)
        return (made, stream, truth)
    }

    /// Loses samples 100 to 219 around a pause, and expects that those of the pause, 110 to 209, are not filled in.
    /// - Parameter lose: records the gaps.
    private func expectOnlyThoseBesideThePause(_ lose: (MadeSession, String) throws -> Void) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let (made, stream, truth) = try Self.sessionOfFirstSamples(of: phone, in: directory)
            try lose(made, stream)
            try made.pause(from: 1.1, to: 2.1, leavingOut: [:])
            try Self.add(truth[220...], to: stream, of: made)
            try made.finish(at: 8.5)
            let outcome = try Self.fill(made.directory, from: try Self.write(phone, .csvZip, in: directory))
            #expect(outcome.samples == 20)
            let verification = made.directory.verify()
            #expect(verification.verdict == .whole, "\(verification.findings)")
            let found = try Self.samples(of: "accelerometer", in: made.directory)
            #expect(found.map(\.sample) == Array(truth[..<110]) + Array(truth[210...]))
        }
    }

    /// The publisher was killed, and the recorder cannot know how many samples it had taken beyond those that it had
    /// reported.
    @Test(arguments: [0, 10])
    func whatIsBetweenTwoRunsOfThePublisherIsFilledIn(_ known: Int) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.sessionOfTwoRuns(of: phone, knowing: known, in: directory)
            let outcome = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            #expect(outcome.samples == 300)
            try expectAllSamplesOfTwoRuns(of: phone, in: session)
        }
    }

    /// Each run dates the phone's samples anew: by a message that was late, or by a clock that was set meanwhile.
    @Test(arguments: [300_000_000, -300_000_000] as [Int64])
    func samplesBetweenRunsWithDifferentDatesAreFilledInOnce(_ later: Int64) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.sessionOfTwoRuns(of: phone, knowing: 0, later: later, in: directory)
            let outcome = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            #expect(outcome.samples == 300 && outcome.remainingGaps == 0, "\(outcome)")
            let found = try Self.samples(of: "accelerometer", in: session)
            #expect(found.map(\.sample.values) == phone.own("accelerometer").map(\.values))
        }
    }

    /// Its clock is the publisher's, on which the samples' times are based.
    @Test(arguments: [0, 0.5, -0.5]) func samplesUpToTheSessionsEndAreFilledIn(ahead: Double) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let (made, stream, truth) = try Self.sessionOfFirstSamples(of: phone, in: directory)
            try made.gap(stream, count: 0, reason: .publisherUnreachable, at: 3)
            made.compareClocks(at: 1, ahead: ahead)
            try made.finish(at: 3)
            let outcome = try Self.fill(made.directory, from: try Self.write(phone, .csvZip, in: directory))
            #expect(outcome.remainingGaps == 0, "\(outcome)")
            let found = try Self.samples(of: "accelerometer", in: made.directory)
            #expect(found.map(\.sample) == truth.filter { $0.time < 3_000_000_000 + Int64(ahead * 1e9) })
        }
    }

    @Test func aGapOfUnknownSizeStaysIfTheExportHasOnlyTheSamplesBeforeIt() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.sessionOfTwoRuns(of: phone, knowing: 10, in: directory)
            let first = directory.appending("first.zip")
            try Self.write(phone.csv(0..<110), to: first)
            let outcome = try Self.fill(session, from: first)
            #expect(outcome.samples == 10)
            #expect(outcome.remainingGaps == 1)
            #expect(try session.record().logs[0].gaps.map(\.from) == [110])
            #expect(session.verify().verdict == .loss)
            let rest = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            #expect(rest.samples == 290)
            try expectAllSamplesOfTwoRuns(of: phone, in: session)
        }
    }

    /// A session that has lost samples 100 to 399, which lie between two runs of the publisher.
    /// - Parameters:
    ///   - known: how many of them the recorder knew of.
    ///   - later: nanoseconds by which the new run dates the samples later.
    private static func sessionOfTwoRuns(
        of phone: PhoneRecording, knowing known: Int, later: Int64 = 12_345, in directory: FilePath
    ) throws -> SessionDirectory {
        let (made, stream, truth) = try sessionOfFirstSamples(of: phone, in: directory)
        if known > 0 { try made.gap(stream, count: known, reason: .publisherUnreachable, at: 1) }
        try made.gap(stream, count: 0, reason: .epochEnded, at: 1)
        try made.beginEpoch(stream, "E2", at: 4)
        // The new run has compared the clocks again.
        try add(truth[400...], later: later, to: stream, of: made)
        try made.finish(at: 8.5)
        return made.directory
    }

    private func expectAllSamplesOfTwoRuns(of phone: PhoneRecording, in session: SessionDirectory) throws {
        let verification = session.verify()
        #expect(verification.verdict == .whole, "\(verification.findings)")
        let found = try Self.samples(of: "accelerometer", in: session)
        #expect(found.map(\.sample.values) == phone.own("accelerometer").map(\.values))
        #expect(found.map(\.sample.time) == found.map(\.sample.time).sorted())
    }

    // MARK: Owners

    @Test(.enabled(if: geteuid() == 0, "needs root"))
    func rootFillsASessionWhichKeepsItsOwner() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.fewLosses)
            let export = try Self.write(phone, .csvZip, in: directory)
            try session.directory.give(to: 65_533, 65_534)
            #expect(try Self.fill(session, from: export).samples == 14)
            #expect(try session.directory.owners == [[65_533, 65_534]])
            #expect(session.verify().verdict == .whole)
        }
    }

    // MARK: Without a change

    @Test func theSameExportTwiceChangesNothing() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: ["accelerometer": [Loss(10..<20), Loss(790..<800)]])
            let export = directory.appending("export.zip")
            try Self.write(phone.csv(0..<400), to: export)
            #expect(try Self.fill(session, from: export).remainingGaps == 1)
            let files = try Self.files(session)
            let again = try Self.fill(session, from: export)
            #expect(again.formerFill?.number == 1)
            #expect(again.remainingGaps == 1)
            #expect(try Self.files(session) == files)
            try Self.write(phone.csv(), to: export)
            #expect(try Self.fill(session, from: export).remainingGaps == 0)
            let whole = try Self.files(session)
            let third = try Self.fill(session, from: export)
            #expect(third.streams.isEmpty && third.remainingGaps == 0)
            #expect(try Self.files(session) == whole)
        }
    }

    @Test func aDryRunSaysWhatWouldBeFilled() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: Self.losses)
            let files = try Self.files(session)
            let export = try Self.write(phone, .csvZip, in: directory)
            let outcome = try Self.fill(session, from: export) { $0.isDryRun = true }
            #expect(outcome.samples == 104)
            #expect(outcome.remainingGaps == 0)
            #expect(try Self.files(session) == files)
        }
    }

    // MARK: Damage

    @Test func anAlteredFillIsDamage() throws {
        try withTemporaryDirectory { (directory: FilePath) throws -> Void in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: Self.losses)
            _ = try Self.fill(session, from: try Self.write(phone, .csvZip, in: directory))
            let name = "phone_accelerometer.fill-1.json"
            let bytes = try session.directory.read(name)
            let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
            var withoutOne = lines
            withoutOne.remove(at: 4)
            let changes: [(String, [UInt8])] = [
                (
                    "a value",
                    Array(
                        String(decoding: bytes, as: UTF8.self).replacing("\"x\":", with: "\"x\":1", maxReplacements: 1)
                            .utf8)
                ),
                ("a line less", Array(withoutOne.joined(separator: "\n").utf8)), ("its end", bytes.dropLast(40)),
                ("all", []),
            ]
            for (what, changed) in changes {
                try Self.write(changed, to: session.directory.path.appending(name))
                #expect(session.verify().verdict == .damaged, "\(what)")
                // Even if the hashes were updated to match.
                let sums = try session.directory.read("SHA256SUMS")
                try session.writeChecksums()
                #expect(session.verify().verdict == .damaged, "\(what)")
                try session.directory.replace("SHA256SUMS", with: sums)
            }
            try Directory.removeFile(session.directory.path.appending(name))
            #expect(session.verify().verdict == .damaged)
            try Self.write(bytes, to: session.directory.path.appending(name))
            #expect(session.verify().verdict == .whole)
            try Directory.removeFile(session.directory.path.appending("session.before-fill-1.json"))
            #expect(session.verify().verdict == .damaged)
        }
    }

    // MARK: Refusals

    /// A refusal must give the reason and change nothing.
    private func expectRefusal(
        _ session: SessionDirectory, from export: FilePath, saying words: String, code: RecordingError.Code? = nil,
        _ change: (inout SessionFill.Options) -> Void = { _ in }
    ) throws {
        let files = try Self.files(session)
        let error = #expect(throws: RecordingError.self) { try Self.fill(session, from: export, change) }
        #expect(error.map { "\($0)".contains(words) } == true, "\(error.map { "\($0)" } ?? "")")
        if let code { #expect(error?.code == code) }
        #expect(try Self.files(session) == files)
        let names = try Directory(session.directory.path.removingLastComponent()).names()
        #expect(!names.contains { $0.hasPrefix(".") }, "\(names)")
    }

    @Test func whatCanNotBeFilledIsRefused() throws {
        try withTemporaryDirectory { (directory: FilePath) throws -> Void in
            let phone = PhoneRecording()
            let export = try Self.write(phone, .csvZip, in: directory)
            func session(_ name: String, status: SessionStatus = .finished) throws -> SessionDirectory {
                try phone.session(in: directory.appending(name), losing: Self.losses, status: status)
            }
            try expectRefusal(session("running", status: .running), from: export, saying: "is running")
            let damaged = try session("damaged")
            let record = try damaged.record()
            let file = damaged.directory.path.appending(record.logs[0].files[0].name)
            let bytes = try damaged.directory.read(record.logs[0].files[0].name)
            try Self.write(bytes.dropLast(2), to: file)
            try expectRefusal(damaged, from: export, saying: "does not verify")
            let whole = try session("whole")
            let other = directory.appending("other.zip")
            try Self.write(PhoneRecording(scale: 0.75).csv(without: ["Annotation"]), to: other)
            try expectRefusal(whole, from: other, saying: "the times do not overlap")
            let later = directory.appending("later.zip")
            try Self.write(phone.csv(820..<840), to: later)
            try expectRefusal(whole, from: later, saying: "none of its samples belong in a gap")
            let sensors = directory.appending("sensors.zip")
            let barometer = Array("time,seconds_elapsed,pressure\n1795255200000000000,0,1013\n".utf8)
            try Self.write(StoredZip([("Barometer.csv", barometer)]).bytes, to: sensors)
            try expectRefusal(whole, from: sensors, saying: "none of the streams of phone")
            try expectRefusal(whole, from: export, saying: "It has phone") { $0.device = "watch" }
            let gt3x = directory.appending("a.zip")
            try Self.write(StoredZip([("readme.txt", [65])]).bytes, to: gt3x)
            try expectRefusal(whole, from: gt3x, saying: "a.zip")
            try expectRefusal(whole, from: directory.appending("absent.zip"), saying: "absent.zip")
            // Two programs at once.
            let lock = try SessionRewrite.lock(whole)
            let error = #expect(throws: RecordingError.self) { try Self.fill(whole, from: export) }
            #expect(error?.code == .locked)
            withExtendedLifetime(lock) {}
            let nested = try session("nested")
            try Directory(nested.directory.path.appending("photos")).create()
            let folder = #expect(throws: RecordingError.self) { try Self.fill(nested, from: export) }
            #expect(folder.map { "\($0)".contains("photos") } == true)
            #expect(nested.verify().verdict == .loss)
        }
    }

    @Test func severalDevicesNeedAName() throws {
        try withTemporaryDirectory { directory in
            let (phone, other) = (PhoneRecording(), PhoneRecording(scale: 0.5))
            let made = try MadeSession(in: directory, "walk-1")
            for device in ["left", "right"] { try made.add("\(device)/accelerometer", unit: nil) }
            for (device, phone) in [("left", phone), ("right", other)] {
                for (index, sample) in phone.own("accelerometer").enumerated() {
                    if index == 100 { try made.gap("\(device)/accelerometer", count: 10, at: 1) }
                    if (100..<110).contains(index) { continue }
                    try made.sample(
                        "\(device)/accelerometer", Double(sample.time) / 1e9, sample.values.joined(separator: ","))
                }
            }
            try made.finish(at: 9)
            let export = directory.appending("export.zip")
            try Self.write(other.csv(), to: export)
            try expectRefusal(made.directory, from: export, saying: "left, right")
            try expectRefusal(made.directory, from: export, saying: "none of its samples belong") { $0.device = "left" }
            let outcome = try Self.fill(made.directory, from: export) { $0.device = "right" }
            #expect(outcome.samples == 10 && outcome.remainingGaps == 1)
            let left = directory.appending("left.zip")
            try Self.write(phone.csv(), to: left)
            #expect(try Self.fill(made.directory, from: left).remainingGaps == 0)
            #expect(made.directory.verify().verdict == .whole)
        }
    }

    @Test func valuesThatRepeatAreNotGuessed() throws {
        try withTemporaryDirectory { directory in
            var phone = PhoneRecording()
            for index in phone.sensors[0].samples.indices {
                phone.sensors[0].samples[index].time = Int64(index - PhoneRecording.around) * 10_000_000
                phone.sensors[0].samples[index].values = ["0", "0", "1"]
            }
            phone.sensors = [phone.sensors[0]]
            let session = try phone.session(in: directory, losing: ["accelerometer": [Loss(100..<110)]])
            let export = try Self.write(phone, .csvZip, in: directory)
            try expectRefusal(session, from: export, saying: "several places")
        }
    }

    // MARK: Archives

    /// A session with two archives, beside one of another session, and the phone's export.
    private static func archived(
        in directory: FilePath
    ) throws -> (session: SessionDirectory, export: FilePath, archives: Directory) {
        let phone = PhoneRecording()
        let session = try phone.session(in: directory, losing: losses)
        let export = try write(phone, .csvZip, in: directory)
        let archives = Directory(directory.appending("archives"))
        _ = try SessionArchiver().archive(session, to: archives, at: date)
        let note = #"{"session":"walk-1","archives":[{"name":"walk-1.zip"},{"name":"walk-1-questions.zip"}]}"#
        try archives.replace("walk-1.archive.json", with: Array(note.utf8))
        try archives.replace("walk-1-questions.zip", with: [1])
        try archives.replace("walk-10.zip", with: [1])
        return (session, export, archives)
    }

    @Test func anArchiveThatWasMadeBeforeIsMadeAnew() throws {
        try withTemporaryDirectory { directory in
            let (session, export, archives) = try Self.archived(in: directory)
            // While an archiver works on the session.
            let claim = try #require(try DirectoryLock.take("walk-1", in: archives))
            let error = #expect(throws: RecordingError.self) { try Self.fill(session, from: export) }
            #expect(error?.code == .locked)
            #expect(session.verify().verdict == .loss)
            withExtendedLifetime(claim) {}
        }
        try withTemporaryDirectory { directory in
            let (session, export, archives) = try Self.archived(in: directory)
            let outcome = try Self.fill(session, from: export)
            #expect(outcome.removedArchives == ["walk-1.archive.json", "walk-1.zip", "walk-1-questions.zip"])
            #expect(try archives.names() == ["walk-10.zip"])
        }
    }

    @Test(arguments: [false, true])
    func anArchiveThatMayHaveTheOnlyCopyOfRemovedFilesIsKept(isUploaded: Bool) throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: Self.fewLosses)
            let export = try Self.write(phone, .csvZip, in: directory)
            let archives = try Directory.withArchive(in: directory)
            try session.removeFiles(of: "annotation", uploaded: isUploaded ? .now : nil)
            if !isUploaded {
                try expectRefusal(session, from: export, saying: "archives/walk-1.zip may have the only copy")
                #expect(try archives.read("walk-1.zip") == [1])
                try Directory.removeFile(archives.path.appending("walk-1.zip"))
            }
            let outcome = try Self.fill(session, from: export)
            #expect(outcome.remainingGaps == 0)
            #expect(outcome.removedArchives == (isUploaded ? ["walk-1.zip"] : []))
        }
    }

    @Test func archivesOfAnEarlierSessionOfTheNameAreKept() throws {
        try withTemporaryDirectory { directory in
            let (session, export, archives) = try Self.archived(in: directory)
            let note = #"{"session":"walk-1","startDate":"2020-01-01T00:00:00Z","archives":[{"name":"walk-1.zip"}]}"#
            try archives.replace("walk-1.archive.json", with: Array(note.utf8))
            let names = try archives.names().sorted()
            let outcome = try Self.fill(session, from: export)
            #expect(outcome.remainingGaps == 0)
            #expect(outcome.removedArchives.isEmpty)
            #expect(try archives.names().sorted() == names)
        }
    }

    @Test func aSessionThatWasUploadedIsRefused() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: Self.losses)
            let export = try Self.write(phone, .csvZip, in: directory)
            let archives = Directory(directory.appending("archives"))
            try archives.create()
            let receipt = #"{"session":"walk-1","date":"2026-11-22T10:00:00Z"}"#
            try archives.replace("walk-1.receipt.json", with: Array(receipt.utf8))
            try expectRefusal(session, from: export, saying: "walk-1.receipt.json away")
            try Directory.removeFile(archives.path.appending("walk-1.receipt.json"))
            #expect(try Self.fill(session, from: export).remainingGaps == 0)
        }
    }

    // MARK: Kills

    /// File calls whose n-th call does something else.
    static func calls(
        _ count: SharedCount, at number: Int, _ body: @escaping @Sendable () throws(Errno) -> Void
    ) -> FileCalls {
        let system = FileCalls.system
        var calls = system
        let check: @Sendable () throws(Errno) -> Void = { () throws(Errno) in
            if count.next() == number { try body() }
        }
        calls.write = { descriptor, bytes, offset throws(Errno) in
            try check()
            return try system.write(descriptor, bytes, offset)
        }
        calls.resize = { descriptor, length throws(Errno) in
            try check()
            try system.resize(descriptor, length)
        }
        calls.sync = { descriptor throws(Errno) in
            try check()
            try system.sync(descriptor)
        }
        calls.syncAll = { descriptor throws(Errno) in
            try check()
            try system.syncAll(descriptor)
        }
        calls.rename = { old, new throws(Errno) in
            try check()
            try system.rename(old, new)
        }
        calls.link = { file, new throws(Errno) in
            try check()
            try system.link(file, new)
        }
        calls.exchange = { one, other throws(Errno) in
            try check()
            try system.exchange(one, other)
        }
        return calls
    }

    /// The number of gaps of a session after an interrupted fill: the session is either unchanged or filled.
    static func gaps(of session: SessionDirectory, before: Int) throws -> Int {
        let gaps = try session.record().logs.reduce(0) { $0 + $1.gaps.count }
        #expect(gaps == 0 || gaps == before)
        #expect(session.verify().verdict == (gaps == 0 ? .whole : .loss))
        return gaps
    }

    final class SharedCount: Sendable {
        private let count = Mutex(0)

        var value: Int { count.withLock { $0 } }

        func next() -> Int {
            count.withLock { count in
                count += 1
                return count
            }
        }
    }

    private static let fewLosses: [String: [Loss]] = ["accelerometer": [Loss(10..<20)], "gyroscope": [Loss(5..<9)]]

    /// Wherever a call fails, the session is either unchanged or filled; and the next fill works as the first would have.
    @Test func whereverACallFailsTheSessionIsTheOldOrTheNewOne() throws {
        try withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let export = try Self.write(phone, .csvZip, in: directory)
            var number = 1
            var states: [Int] = []
            var isOver = false
            while !isOver {
                let data = directory.appending("\(number)")
                let session = try phone.session(in: data, losing: Self.fewLosses)
                let count = SharedCount()
                let calls = Self.calls(count, at: number) { () throws(Errno) in throw .ioError }
                let error = RecordingError.thrown { () throws(RecordingError) in
                    _ = try Self.fill(session, from: export, calls: calls)
                }
                isOver = error == nil
                #expect(isOver == (count.value < number))
                let gaps = try Self.gaps(of: session, before: 2)
                states.append(gaps)
                let names = try SessionDirectory.recordings(in: data).names()
                #expect(names == ["walk-1"])
                if gaps == 2 {
                    #expect(try Self.fill(session, from: export).samples == 14)
                    #expect(session.verify().verdict == .whole)
                }
                number += 1
            }
            // Once filled, the session stays filled.
            #expect(states == states.sorted(by: >))
            #expect(number > 20)
        }
    }

    /// The same, if the program is killed: its leftovers have no session's name, and the next fill removes them.
    @Test func whereverAFillIsKilledTheSessionIsTheOldOrTheNewOne() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let export = try Self.write(phone, .csvZip, in: directory)
            let counted = try phone.session(in: directory.appending("counted"), losing: Self.fewLosses)
            let count = SharedCount()
            _ = try Self.fill(counted, from: export, calls: Self.calls(count, at: .max) { () throws(Errno) in })
            var leftovers = 0
            for number in 1...count.value {
                let data = directory.appending("\(number)")
                let session = try phone.session(in: data, losing: Self.fewLosses)
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [
                        path = session.directory.path.string as String, file = export.string as String,
                        number = number as Int
                    ]
                    in
                    let calls = Self.calls(SharedCount(), at: number) { () throws(Errno) in raise(SIGKILL) }
                    _ = try Self.fill(SessionDirectory(at: FilePath(path)), from: FilePath(file), calls: calls)
                }
                _ = try Self.gaps(of: session, before: 2)
                #expect(try SessionDirectory.sessions(in: data).map(\.text) == ["walk-1"])
                let recordings = SessionDirectory.recordings(in: data)
                leftovers += try recordings.names().contains { $0.hasSuffix("~filling") } ? 1 : 0
                #expect(try Self.fill(session, from: export).remainingGaps == 0)
                #expect(session.verify().verdict == .whole)
                #expect(try recordings.names() == ["walk-1"])
            }
            #expect(leftovers == count.value)
        }
    }

    @Test func whatAKilledFillLeftGoesWhenTheSessionIsDiscarded() throws {
        try withTemporaryDirectory { directory in
            let session = try PhoneRecording(seconds: 2).session(in: directory, losing: Self.fewLosses)
            let recordings = SessionDirectory.recordings(in: directory)
            try Directory(recordings.path.appending(".walk-1~filling")).create()
            try SessionDisposal(in: directory).retire(session.session)
            #expect(try recordings.names().allSatisfy { $0.hasPrefix(".discarded~") })
        }
    }
}
