import Files
import Foundation
import Import
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// Fills a session's gaps with samples that a publisher or a relay still keeps.
@Suite(.timeLimit(.minutes(5)))
struct BusFillTests {
    private typealias Loss = PhoneRecording.Loss
    private typealias Kept = ScriptedPublisher.Kept

    private static let endpoint = "tcp://127.0.0.1:5551"
    private static let date = WallTime(nanosecondsSince1970: 1_800_000_000_000_000_000)

    /// Gaps in every place: at the beginning and the end, in succession, across a step and across a change of files.
    private static let losses: [String: [Loss]] = [
        "accelerometer": [
            Loss(0..<3), Loss(40..<52), Loss(52..<60, reason: .publisherUnreachable), Loss(200..<201),
            Loss(330..<571, reason: .epochEnded), Loss(790..<800),
        ],
        "gyroscope": [Loss(100..<125)],
        "annotation": [Loss(30..<33), Loss(50..<51)],
    ]
    private static let lost = 3 + 12 + 8 + 1 + 241 + 10 + 25 + 3 + 1

    // MARK: Tools

    /// An uptime in these tests' sessions, from nanoseconds since the session's start.
    private static func uptime(_ time: Int64) -> String { "\(Double(time) / 1e9 + 1000)" }

    /// The samples that a phone's publisher keeps: all of the session, or a range.
    private static func kept(
        _ phone: PhoneRecording, device: String = "phone", epoch: String = "E1", form: ScriptedPublisher.Form = .json,
        only numbers: Range<Int>? = nil
    ) -> [Kept] {
        phone.sensors.map { sensor in
            let own = phone.own(sensor.stream)
            let samples = own.indices.filter { numbers?.contains($0) ?? true }.map { index in
                // In seconds first, as in the session.
                let time = (Double(own[index].time) / 1e9 * 1e9).rounded() / 1e9
                return (index, ("\(time + 1000)", own[index].values))
            }
            return Kept(
                name: StreamName(device: device, stream: sensor.stream), epoch: epoch,
                fields: ["uptime"] + sensor.fields, types: sensor.types.map { [.number] + $0 }, form: form,
                samples: Dictionary(uniqueKeysWithValues: samples))
        }
    }

    private static func fill(
        _ session: SessionDirectory, from publisher: ScriptedPublisher, calls: FileCalls = .system,
        _ change: (inout SessionFill.Options) -> Void = { _ in }
    ) async throws(RecordingError) -> SessionFill.Outcome {
        var options = SessionFill.Options()
        change(&options)
        return try await SessionFill(session.directory.path, options, version: "0", date: date, calls: calls)
            .run(from: BusReplays(from: endpoint, by: publisher))
    }

    /// A sample as written in a file, without separators.
    private struct Written: Hashable {
        var bytes: String
        var sequence: Int
    }

    /// The samples of a stream as any reader sees them, byte for byte.
    private static func written(
        _ stream: String, in session: SessionDirectory
    ) throws -> (samples: [Written], filled: [Int]) {
        let record = try session.record()
        let log = try #require(record.logs.first { "\($0.device)/\($0.stream)" == stream })
        var reader = try StreamReader(log, of: record, in: session)
        var samples: [Written] = []
        var filled: [Int] = []
        while let item = try reader.next() {
            guard case .sample = item else { continue }
            if reader.isFilled { filled.append(samples.count) }
            reader.withSample { bytes, _, _ in
                samples.append(Written(bytes: String(decoding: bytes, as: UTF8.self), sequence: reader.sequence))
            }
        }
        return (samples, filled)
    }

    private static func expectWhole(_ session: SessionDirectory) {
        let verification = session.verify()
        #expect(verification.verdict == .whole, "\(verification.findings)")
    }

    /// Expects that nothing is filled and nothing has changed.
    private func expectRefusal(
        _ session: SessionDirectory, from publisher: ScriptedPublisher, saying words: String,
        _ change: (inout SessionFill.Options) -> Void = { _ in }
    ) async throws {
        let files = try FillTests.files(session)
        let error = await #expect(throws: RecordingError.self) {
            try await Self.fill(session, from: publisher, change)
        }
        #expect(error?.code == .invalidParameter)
        #expect(error.map { "\($0)".contains(words) } == true, "\(error.map { "\($0)" } ?? "")")
        #expect(try FillTests.files(session) == files)
        let names = try Directory(session.directory.path.removingLastComponent()).names()
        #expect(!names.contains { $0.hasPrefix(".") }, "\(names)")
    }

    // MARK: Filling

    @Test(arguments: ScriptedPublisher.Form.allCases, LogFormat.allCases)
    func everyLostSampleIsWrittenAsTheRecorderWouldHave(
        _ form: ScriptedPublisher.Form, _ format: LogFormat
    ) async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, format: format, losing: Self.losses, rotatingAt: 60)
            let whole = try phone.session(in: directory.appending("whole"), format: format, losing: [:], rotatingAt: 60)
            let before = try FillTests.files(session)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone, form: form)))
            let outcome = try await Self.fill(session, from: publisher)
            let notes = outcome.streams.flatMap(\.notes)
            #expect(notes.isEmpty, "\(notes)")
            #expect(outcome.samples == Self.lost)
            #expect(outcome.remainingGaps == 0)
            Self.expectWhole(session)
            for sensor in phone.sensors {
                let stream = "phone/\(sensor.stream)"
                let found = try Self.written(stream, in: session)
                #expect(found.samples == (try Self.written(stream, in: whole).samples), "\(stream)")
                #expect(found.filled == (Self.losses[sensor.stream] ?? []).flatMap(\.range), "\(stream)")
            }
            // Only the missing samples were requested, in pieces.
            #expect(publisher.requests.allSatisfy { $0.ranges == nil && $0.epoch == "E1" })
            #expect(publisher.requests.filter { $0.from >= 330 && $0.from < 571 }.map(\.from) == [330, 430, 530])
            #expect(publisher.requests.filter { $0.from >= 330 && $0.from < 571 }.map(\.count) == [241, 141, 41])
            // The existing samples have not changed.
            let after = try FillTests.files(session)
            for (name, bytes) in before where !["session.json", "report.json", "SHA256SUMS"].contains(name) {
                #expect(after[name] == bytes, "\(name)")
            }
            #expect(try SessionDirectory.recordings(in: directory).names() == ["walk-1"])
            let fill = try #require(try session.record().fills?.first)
            let received = publisher.received.flatMap(\.self)
            #expect(fill.source.name == Self.endpoint)
            #expect(fill.source.bytes == received.count)
            #expect(fill.source.sha256 == FinishedFile.sha256(of: received))
            #expect(fill.device == "phone" && fill.number == 1 && fill.offsets.isEmpty && fill.former.count == 3)
            let report = try session.report()
            #expect(report.isWhole)
            let (own, other) = (report.streams, try whole.report().streams)
            #expect(own.map(\.expected) == other.map(\.expected))
            #expect(own.map(\.firstUptime) == other.map(\.firstUptime))
            #expect(own.map(\.lastUptime) == other.map(\.lastUptime))
        }
    }

    @Test func whatIsNotKeptStaysAGapUntilSomebodyHasIt() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let losses: [String: [Loss]] = [
                "accelerometer": [Loss(100..<120), Loss(300..<350)], "gyroscope": [Loss(10..<20)],
            ]
            let session = try phone.session(in: directory, losing: losses)
            var kept = Self.kept(phone, only: 310..<800)
            // The publisher never had some of them.
            for number in 320..<325 { kept[0].samples[number] = nil }
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(kept))
            let outcome = try await Self.fill(session, from: publisher)
            #expect(outcome.samples == 35)
            #expect(outcome.remainingGaps == 4)
            #expect(
                outcome.streams.flatMap(\.notes) == [
                    "gap from sample 100: 0 of 20 samples came; the others are no longer kept",
                    "gap from sample 300: 35 of 50 samples came; the others are no longer kept",
                    "gap from sample 10: 0 of 10 samples came; the others are no longer kept",
                ])
            #expect(session.verify().verdict == .loss)
            let gaps = try session.record().logs[0].gaps
            #expect(gaps.map(\.from) == [100, 300, 320] && gaps.map(\.count) == [20, 10, 5])
            let truth = try Self.written(
                "phone/accelerometer",
                in: phone.session(in: directory.appending("whole"), losing: [:])
            ).samples
            let found = try Self.written("phone/accelerometer", in: session).samples
            #expect(found.allSatisfy { $0 == truth[$0.sequence] })
            // A second fill adds nothing and changes nothing.
            try await expectRefusal(session, from: publisher, saying: "\(Self.endpoint) sent no samples")
            // A relay has the rest.
            let relay = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            let rest = try await Self.fill(session, from: relay)
            #expect(rest.samples == 20 + 10 + 5 + 10 && rest.remainingGaps == 0)
            Self.expectWhole(session)
            #expect(try Self.written("phone/accelerometer", in: session).samples == truth)
            #expect(try session.record().fills?.map(\.number) == [1, 2])
            let files = try FillTests.files(session)
            let third = try await Self.fill(session, from: relay)
            #expect(third.streams.isEmpty && third.remainingGaps == 0)
            #expect(try FillTests.files(session) == files)
        }
    }

    @Test func theEndOfALongGapIsFilledInWithoutItsBeginning() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let stream = "phone/accelerometer"
            let lost = 2_000_000
            let made = try MadeSession(in: directory, "walk-1")
            try made.add(stream, unit: nil)
            let samples = phone.own("accelerometer")[..<100].map { ($0.time, $0.values.joined(separator: ",")) }
            try made.gap(stream, count: lost, at: 0)
            for (time, values) in samples { try made.sample(stream, 20_000 + Double(time) / 1e9, values) }
            try made.finish(at: 20_002)
            var kept = Self.kept(phone, only: 0..<100)[0]
            kept.samples = Dictionary(
                uniqueKeysWithValues: (1...100).map { index in
                    (lost - index, ("\(21_000 - Double(index) / 100)", ["0", "0", "1"]))
                })
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping([kept]))
            let outcome = try await Self.fill(made.directory, from: publisher)
            #expect(outcome.samples == 100 && outcome.remainingGaps == 1, "\(outcome)")
            let gap = try #require(try made.directory.record().logs[0].gaps.first)
            #expect(gap.from == 0 && gap.count == lost - 100)
            #expect(
                try Self.written(stream, in: made.directory).samples.map(\.sequence)
                    == Array(lost - 100..<lost + 100))
        }
    }

    @Test func aDryRunAsksAndChangesNothing() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: Self.losses)
            let files = try FillTests.files(session)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            let outcome = try await Self.fill(session, from: publisher) { $0.isDryRun = true }
            #expect(outcome.samples == Self.lost && outcome.remainingGaps == 0)
            #expect(try FillTests.files(session) == files)
            #expect(try SessionDirectory.recordings(in: directory).names() == ["walk-1"])
        }
    }

    @Test func samplesOfPausesAreLeftOut() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let stream = "phone/accelerometer"
            let truth = phone.own("accelerometer")
            func session(_ data: FilePath, losing ranges: [Range<Int>]) throws -> SessionDirectory {
                let made = try MadeSession(in: data, "walk-1")
                try made.add(stream, unit: nil)
                for (index, sample) in truth.enumerated() {
                    if let range = ranges.first(where: { $0.lowerBound == index }) {
                        try made.gap(stream, count: range.count, at: Double(sample.time) / 1e9)
                    }
                    let isLost = ranges.contains { $0.contains(index) }
                    if index == 110 { try made.pause(from: 1.1, to: 2.1, leavingOut: isLost ? [:] : [stream: 100]) }
                    if (110..<210).contains(index) || isLost { continue }
                    try made.sample(stream, Double(sample.time) / 1e9, sample.values.joined(separator: ","))
                }
                try made.finish(at: 8.5)
                return made.directory
            }
            let whole = try session(directory.appending("whole"), losing: [])
            // The whole pause with ten samples on each side; its beginning and end in separate gaps; a gap entirely within the
            // pause.
            let losses = [[100..<220], [100..<150, 150..<220], [100..<120, 120..<200, 200..<220]]
            for (index, ranges) in losses.enumerated() {
                let lossy = try session(directory.appending("\(index)"), losing: ranges)
                let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
                let outcome = try await Self.fill(lossy, from: publisher)
                #expect(outcome.samples == 20 && outcome.remainingGaps == 0)
                Self.expectWhole(lossy)
                #expect(try Self.written(stream, in: lossy).samples == Self.written(stream, in: whole).samples)
            }
        }
    }

    /// The uptime stands still during sleep, but the session's time does not. The recorder knows of the sleep from the first
    /// sample that it received after it.
    @Test(arguments: [3_000_000_000, 3_500_000_000] as [Int64])
    func samplesBehindASleepOfThePublishersMachineHaveTheirTime(knownSince time: Int64) async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try phone.session(in: directory, losing: ["accelerometer": [Loss(250..<350)]])
            var record = try session.record()
            var sleeps = UptimeClock(uptime: MadeSession.origin, elapsed: MadeSession.origin)
            sleeps.note(uptime: MadeSession.origin + time, elapsed: MadeSession.origin + time + 100_000_000_000)
            record.logs[0].epochs[0].sleeps = sleeps
            try session.write(record)
            try session.writeChecksums()
            let wake = try #require(phone.own("accelerometer").firstIndex { $0.time >= 3_000_000_000 })
            var kept = Self.kept(phone)
            for index in kept.indices { kept[index].wake = (wake, 100) }
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(kept, batch: 10))
            #expect(try await Self.fill(session, from: publisher).remainingGaps == 0)
            Self.expectWhole(session)
            let filled = try session.record()
            var reader = try StreamReader(filled.logs[0], of: filled, in: session)
            var times: [Double] = []
            while let item = try reader.next() {
                guard case .sample = item, reader.isFilled else { continue }
                reader.withSample { bytes, timestamp, _ in
                    times.append(DecimalParser.parse(UnsafeRawBufferPointer(rebasing: bytes[timestamp])) ?? .nan)
                }
            }
            let truth = phone.own("accelerometer")[250..<350].map { sample in
                Double(sample.time + (sample.time < 3_000_000_000 ? 0 : 100_000_000_000)) / 1e9
            }
            #expect(times == truth)
        }
    }

    @Test func allDevicesAreFilledUnlessOneIsNamed() async throws {
        try await withTemporaryDirectory { directory in
            let phones = ["left": PhoneRecording(), "right": PhoneRecording(scale: 0.5)]
            func session(_ name: String) throws -> SessionDirectory {
                let made = try MadeSession(in: directory, name)
                for device in ["left", "right"] { try made.add("\(device)/accelerometer", unit: nil) }
                for (device, phone) in phones {
                    for (index, sample) in phone.own("accelerometer").enumerated() {
                        if index == 100 { try made.gap("\(device)/accelerometer", count: 10, at: 1) }
                        if (100..<110).contains(index) { continue }
                        try made.sample(
                            "\(device)/accelerometer", Double(sample.time) / 1e9, sample.values.joined(separator: ","))
                    }
                }
                try made.finish(at: 9)
                return made.directory
            }
            let publisher = ScriptedPublisher(
                ScriptedPublisher.keeping(phones.flatMap { Self.kept($1, device: $0) }))
            let both = try session("both")
            let outcome = try await Self.fill(both, from: publisher)
            #expect(outcome.samples == 20 && outcome.remainingGaps == 0)
            Self.expectWhole(both)
            let fills = try both.record().fills ?? []
            #expect(fills.map(\.device) == ["left", "right"] && fills.map(\.number) == [1, 2])
            #expect(try both.report().fills?.map(\.samples) == [10, 10])
            #expect(Set(fills.map(\.source.sha256)).count == 2)
            let one = try session("one")
            let right = try await Self.fill(one, from: publisher) { $0.device = "right" }
            #expect(right.samples == 10 && right.remainingGaps == 1)
            #expect(right.streams.map(\.name.device) == ["right"])
            try await expectRefusal(one, from: publisher, saying: "the device right has no gaps") {
                $0.device = "right"
            }
            try await expectRefusal(one, from: publisher, saying: "It has left, right") { $0.device = "watch" }
            #expect(try await Self.fill(one, from: publisher).remainingGaps == 0)
            #expect(try one.record().fills?.map(\.device) == ["right", "left"])
            Self.expectWhole(one)
        }
    }

    // MARK: Runs whose end is not known

    /// A stream whose publisher was unreachable for a while and then restarted.
    private static func twoRuns(_ phone: PhoneRecording, in data: FilePath, isWhole: Bool) throws -> SessionDirectory {
        let made = try MadeSession(in: data, "walk-1")
        let stream = "phone/accelerometer"
        try made.add(stream, unit: nil)
        let truth = phone.own("accelerometer")
        for (index, sample) in truth.enumerated() {
            if index == 100, !isWhole { try made.gap(stream, count: 0, reason: .epochEnded, at: 4) }
            if index == 400 { try made.beginEpoch(stream, "E2", at: 4) }
            if (100..<400).contains(index), !isWhole { continue }
            try made.sample(stream, Double(sample.time) / 1e9, sample.values.joined(separator: ","))
        }
        try made.finish(at: 8.5)
        return made.directory
    }

    @Test func theEndOfAnEarlierRunIsFilledIn() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.twoRuns(phone, in: directory, isWhole: false)
            let whole = try Self.twoRuns(phone, in: directory.appending("whole"), isWhole: true)
            // The relay also has samples that are not the session's: they came after the next run was heard, with a wrong clock.
            var kept = Self.kept(phone, only: 0..<400)[0]
            for number in 400..<450 { kept.samples[number] = ("\(1004.001 + Double(number))", ["0", "0", "0"]) }
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping([kept]))
            let outcome = try await Self.fill(session, from: publisher)
            #expect(outcome.samples == 300 && outcome.remainingGaps == 0, "\(outcome)")
            Self.expectWhole(session)
            let samples = try Self.written("phone/accelerometer", in: session).samples
            #expect(samples.map(\.bytes) == (try Self.written("phone/accelerometer", in: whole).samples.map(\.bytes)))
            let filled = try #require(try session.record().logs[0].fills?.first?.gaps.first)
            #expect(filled.parts.map(\.count) == [0] && filled.parts.map(\.samples) == [300])
            #expect(samples.map(\.sequence).dropFirst(100).prefix(300).elementsEqual(100..<400))
        }
    }

    @Test func anEarlierRunThatIsKeptToItsEndLeavesNoGap() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.twoRuns(phone, in: directory, isWhole: false)
            let kept = Self.kept(phone, only: 0..<350)
            let outcome = try await Self.fill(session, from: ScriptedPublisher(ScriptedPublisher.keeping(kept)))
            #expect(outcome.samples == 250 && outcome.remainingGaps == 0, "\(outcome)")
            Self.expectWhole(session)
        }
    }

    /// A session whose publisher was unreachable when it was stopped.
    /// - Parameter ahead: seconds by which the publisher's clock was ahead of the recorder's.
    private static func cutOff(
        _ phone: PhoneRecording, ahead: Double = 0, in data: FilePath
    ) throws -> SessionDirectory {
        let made = try MadeSession(in: data, "walk-1")
        let stream = "phone/accelerometer"
        try made.add(stream, unit: nil)
        for sample in phone.own("accelerometer")[..<100] {
            try made.sample(stream, Double(sample.time) / 1e9, sample.values.joined(separator: ","))
        }
        try made.gap(stream, count: 0, reason: .publisherUnreachable, at: 3)
        if ahead != 0 { made.compareClocks(at: 1, ahead: ahead) }
        try made.finish(at: 3)
        return made.directory
    }

    /// The end is converted to the publisher's clock, on which the samples' times are based.
    @Test(arguments: [0, 0.5, -0.5]) func samplesUpToTheSessionsEndAreFilledIn(ahead: Double) async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.cutOff(phone, ahead: ahead, in: directory)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            let outcome = try await Self.fill(session, from: publisher)
            let own = phone.own("accelerometer").filter { $0.time < 3_000_000_000 + Int64(ahead * 1e9) }
            #expect(outcome.samples == own.count - 100 && outcome.remainingGaps == 0, "\(outcome)")
            Self.expectWhole(session)
            let samples = try Self.written("phone/accelerometer", in: session).samples
            #expect(samples.count == own.count)
            let last = try #require(own.last)
            #expect(try session.record().logs[0].lastUptime == Double(Self.uptime(last.time)))
        }
    }

    @Test func whereMoreMayComeAGapIsLeft() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording()
            let session = try Self.cutOff(phone, in: directory)
            let first = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone, only: 0..<200)))
            let outcome = try await Self.fill(session, from: first)
            #expect(outcome.samples == 100 && outcome.remainingGaps == 1)
            let gap = try #require(try session.record().logs[0].gaps.first)
            #expect(gap.from == 200 && gap.count == 0)
            #expect(session.verify().verdict == .loss)
            try await expectRefusal(session, from: first, saying: "no samples that belong in it are kept")
            let all = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            #expect(try await Self.fill(session, from: all).remainingGaps == 0)
            Self.expectWhole(session)
        }
    }

    // MARK: Refusals

    private static let few: [String: [Loss]] = [
        "accelerometer": [Loss(10..<20), Loss(50..<60)], "gyroscope": [Loss(5..<9)],
    ]

    private static func busy(_ after: Double? = nil) -> RequestError {
        RequestError(.busy, "16 replays are being made", retryAfter: after)
    }

    @Test func whoIsBusyIsAskedAgain() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            let keeping = ScriptedPublisher.keeping(Self.kept(phone))
            let publisher = ScriptedPublisher { request, number in
                guard number % 4 == 3 else { throw Self.busy(number == 0 ? 3.5 : 1e9) }
                return try keeping(request, number)
            }
            let outcome = try await Self.fill(session, from: publisher)
            #expect(outcome.samples == 24 && outcome.remainingGaps == 0)
            Self.expectWhole(session)
            #expect(publisher.pauses == [3.5, 10, 10, 10, 10, 10, 10, 10, 10])
        }
    }

    @Test func whoIsBusyForEverIsLeft() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            let publisher = ScriptedPublisher { _, _ in throw Self.busy() }
            try await expectRefusal(session, from: publisher, saying: "too busy to answer (16 replays are being made)")
            // All permitted retries for one gap, and one request for each other gap.
            #expect(publisher.requests.count == 31 + 2 && publisher.pauses.count == 30)
            #expect(publisher.pauses.prefix(5) == [0.25, 0.5, 1, 2, 2] && publisher.pauses.last == 2)
            // Samples received earlier are kept.
            let keeping = ScriptedPublisher.keeping(Self.kept(phone))
            let other = ScriptedPublisher { request, number in
                guard number < 1 else { throw Self.busy() }
                return try keeping(request, number)
            }
            let outcome = try await Self.fill(session, from: other)
            #expect(outcome.samples == 10 && outcome.remainingGaps == 2)
            let note = try #require(outcome.streams[0].notes.first)
            #expect(note.hasPrefix("gap from sample 50: ") && note.contains("fill the session again"), "\(note)")
            #expect(session.verify().verdict == .loss)
        }
    }

    @Test func refusalsSayWhatNeedNotBeAskedFor() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            struct NoAnswer: Error {}
            let refusals: [(any Error, requests: Int, words: String)] = [
                (RequestError(.unknownStream, "no stream phone/accelerometer"), 2, "no stream phone/accelerometer"),
                (RequestError(.unknownEpoch, "it started anew"), 2, "it started anew"),
                (RequestError(.notInSource, "they never reached the publisher"), 3, "never reached"),
                (MessageError(.malformed, "an odd byte"), 3, "can't be read: an odd byte"),
                (RequestError(.notAllowed, "the key has no role"), 1, "the key has no role"),
                (NoAnswer(), 1, "\(Self.endpoint) did not answer"),
            ]
            for (error, requests, words) in refusals {
                let publisher = ScriptedPublisher { _, _ in throw error }
                try await expectRefusal(session, from: publisher, saying: words)
                #expect(publisher.requests.count == requests, "\(words)")
                #expect(publisher.pauses.isEmpty)
            }
            // The publisher ends: samples received before that are kept.
            let keeping = ScriptedPublisher.keeping(Self.kept(phone), atOnce: 5)
            let outcome = try await Self.fill(
                session,
                from: ScriptedPublisher { request, number in
                    guard number < 3 else { throw NoAnswer() }
                    return try keeping(request, number)
                })
            #expect(outcome.samples == 15 && outcome.remainingGaps == 2)
            #expect(try session.record().logs[0].gaps.map(\.from) == [55])
        }
    }

    @Test func whatDoesNotFitIsLeftOut() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let kept = Self.kept(phone)[0]
            func changed(_ change: (inout Kept) -> Void) -> Kept {
                var other = kept
                change(&other)
                return other
            }
            let other = StreamName(device: "phone", stream: "gyroscope")
            let good = kept.batch(10..<20)
            let text = String(decoding: good[0], as: UTF8.self)
            /// Frames, and those of the samples 10 to 19 that they deliver.
            let answers: [(String, [[UInt8]], Set<Int>)] = [
                ("another run", changed { $0.epoch = "E2" }.batch(10..<20), []),
                ("another stream", changed { $0.name = other }.batch(10..<20), []),
                ("other columns", changed { $0.fields = ["uptime", "x", "y", "w"] }.batch(10..<20), []),
                ("records", changed { $0.types = [.number, .number, .number, .number] }.batch(10..<20), []),
                ("before and behind", kept.batch(0..<10) + kept.batch(20..<30), []),
                ("more than was asked for", kept.batch(5..<30), Set(10..<20)),
                ("overlapping", kept.batch(8..<15) + kept.batch(12..<17) + kept.batch(14..<20), Set(10..<20)),
                ("in another order", kept.batch(15..<20) + kept.batch(10..<15), Set(15..<20)),
                ("no JSON", [Array("{".utf8)], []),
                ("nothing", [[]], []),
                ("another count", [Array(text.replacing("\"count\":10", with: "\"count\":9").utf8)], []),
                ("a count without end", [Array(text.replacing("\"count\":10", with: "\"count\":\(Int.max)").utf8)], []),
                ("a value that is none", [Array(text.replacing("[1000.1", with: "[\"a\",1000.1").utf8)], []),
                ("a matrix that is cut", changed { $0.form = .packed }.batch(10..<20).map { Array($0.dropLast()) }, []),
                (
                    "garbage in between", kept.batch(10..<13) + [Array("{}".utf8)] + kept.batch(15..<20),
                    Set(10..<13).union(15..<20)
                ),
            ]
            for (index, (what, frames, had)) in answers.enumerated() {
                let session = try phone.session(
                    in: directory.appending("\(index)"), losing: ["accelerometer": [Loss(10..<20)]])
                let publisher = ScriptedPublisher { request, number in
                    let frames = number == 0 ? frames : []
                    let count = frames.isEmpty ? 0 : 10
                    return (SamplesReplay.Reply(from: 10, count: count, first: 0, last: 99), frames[...])
                }
                if had.isEmpty {
                    try await expectRefusal(session, from: publisher, saying: "sent no samples")
                    continue
                }
                let outcome = try await Self.fill(session, from: publisher)
                #expect(outcome.samples == had.count, "\(what)")
                #expect(session.verify().verdict == (had.count == 10 ? .whole : .loss), "\(what)")
                let truth = try Self.written(
                    "phone/accelerometer", in: phone.session(in: directory.appending("\(index)-whole"), losing: [:])
                ).samples
                let found = try Self.written("phone/accelerometer", in: session)
                #expect(found.samples.allSatisfy { $0 == truth[$0.sequence] }, "\(what)")
                #expect(Set(found.filled.map { found.samples[$0].sequence }) == had, "\(what)")
            }
        }
    }

    // MARK: Archives and kills

    @Test func anArchiveThatWasMadeBeforeIsRemovedAndOneThatWasUploadedKeepsTheSession() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            let archives = Directory(directory.appending("archives"))
            try archives.create()
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            let receipt = #"{"session":"walk-1","date":"2026-11-22T10:00:00Z"}"#
            try archives.replace("walk-1.receipt.json", with: Array(receipt.utf8))
            try await expectRefusal(session, from: publisher, saying: "walk-1.receipt.json away")
            try Directory.removeFile(archives.path.appending("walk-1.receipt.json"))
            try archives.replace("walk-1.zip", with: [1])
            let claim = try #require(try DirectoryLock.take("walk-1", in: archives))
            let error = await #expect(throws: RecordingError.self) { try await Self.fill(session, from: publisher) }
            #expect(error?.code == .locked)
            #expect(publisher.requests.isEmpty)
            withExtendedLifetime(claim) {}
        }
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            let archives = try Directory.withArchive(in: directory)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            #expect(try await Self.fill(session, from: publisher).removedArchives == ["walk-1.zip"])
            #expect(try archives.names().isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func anArchiveThatMayHaveTheOnlyCopyOfRemovedFilesIsKept(isUploaded: Bool) async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            let archives = try Directory.withArchive(in: directory)
            try session.removeFiles(of: "annotation", uploaded: isUploaded ? .now : nil)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            if !isUploaded {
                try await expectRefusal(session, from: publisher, saying: "archives/walk-1.zip may have the only copy")
                #expect(publisher.requests.isEmpty)
                #expect(try archives.read("walk-1.zip") == [1])
                try Directory.removeFile(archives.path.appending("walk-1.zip"))
            }
            let outcome = try await Self.fill(session, from: publisher)
            #expect(outcome.remainingGaps == 0)
            #expect(outcome.removedArchives == (isUploaded ? ["walk-1.zip"] : []))
        }
    }

    /// Wherever a call fails, the session is either unchanged or filled; and the next fill works as the first would have.
    @Test func whereverACallFailsTheSessionIsTheOldOrTheNewOne() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            var number = 1
            var states: [Int] = []
            var isOver = false
            while !isOver {
                let data = directory.appending("\(number)")
                let session = try phone.session(in: data, losing: Self.few)
                let count = FillTests.SharedCount()
                let calls = FillTests.calls(count, at: number) { () throws(Errno) in throw .ioError }
                do {
                    _ = try await Self.fill(session, from: publisher, calls: calls)
                    isOver = true
                } catch {}
                #expect(isOver == (count.value < number))
                let gaps = try FillTests.gaps(of: session, before: 3)
                states.append(gaps)
                #expect(try SessionDirectory.recordings(in: data).names() == ["walk-1"])
                if gaps == 3 {
                    #expect(try await Self.fill(session, from: publisher).samples == 24)
                    Self.expectWhole(session)
                }
                number += 1
            }
            #expect(states == states.sorted(by: >))
            #expect(number > 20)
        }
    }

    /// The same, if the program is killed.
    @Test func whereverAFillIsKilledTheSessionIsTheOldOrTheNewOne() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            let counted = try phone.session(in: directory.appending("counted"), losing: Self.few)
            let count = FillTests.SharedCount()
            _ = try await Self.fill(
                counted, from: publisher, calls: FillTests.calls(count, at: .max) { () throws(Errno) in })
            var leftovers: Set<String> = []
            // A process for every second call, and for each of the last ones, around the replacement of the session.
            for number in 1...count.value where number % 2 == 0 || number > count.value - 4 {
                let data = directory.appending("\(number)")
                let session = try phone.session(in: data, losing: Self.few)
                await #expect(processExitsWith: .signal(SIGKILL)) {
                    [path = session.directory.path.string as String, number = number as Int] in
                    let calls = FillTests.calls(FillTests.SharedCount(), at: number) { () throws(Errno) in
                        raise(SIGKILL)
                    }
                    let kept = BusFillTests.kept(PhoneRecording(seconds: 2))
                    _ = try await BusFillTests.fill(
                        SessionDirectory(at: FilePath(path)), from: ScriptedPublisher(ScriptedPublisher.keeping(kept)),
                        calls: calls)
                }
                _ = try FillTests.gaps(of: session, before: 3)
                #expect(try SessionDirectory.sessions(in: data).map(\.text) == ["walk-1"])
                let recordings = SessionDirectory.recordings(in: data)
                leftovers.formUnion(try recordings.names().filter { $0.contains("~") })
                #expect(try await Self.fill(session, from: publisher).remainingGaps == 0)
                Self.expectWhole(session)
                #expect(try recordings.names() == ["walk-1"])
            }
            #expect(leftovers == [".walk-1~fetched", ".walk-1~filling"])
        }
    }

    /// A killed fill's leftovers have no session's name, and the next fill removes them.
    @Test func whatAKilledFillLeftIsRemoved() async throws {
        try await withTemporaryDirectory { directory in
            let phone = PhoneRecording(seconds: 2)
            let session = try phone.session(in: directory, losing: Self.few)
            let recordings = SessionDirectory.recordings(in: directory)
            for left in [".walk-1~filling", ".walk-1~fetched"] {
                let directory = Directory(recordings.path.appending(left))
                try directory.create()
                try directory.replace("phone_accelerometer.json", with: [1])
            }
            let publisher = ScriptedPublisher(ScriptedPublisher.keeping(Self.kept(phone)))
            #expect(try await Self.fill(session, from: publisher).remainingGaps == 0)
            #expect(try recordings.names() == ["walk-1"])
            Self.expectWhole(session)
            try Directory(recordings.path.appending(".walk-1~fetched")).create()
            try SessionDisposal(in: directory).retire(session.session)
            #expect(try recordings.names().allSatisfy { $0.hasPrefix(".discarded~") })
        }
    }
}
