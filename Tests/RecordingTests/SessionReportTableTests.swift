import Messages
import Recording
import Testing

@Suite(.timeLimit(.minutes(5)))
struct SessionReportTableTests {
    @Test func theTableIsAlignedAndNamesEveryLoss() {
        #expect(
            SessionReport.sample.table == """
                stream               expected  received  recovered  lost  paused        rate/s  gaps
                phone/accelerometer      2000      2000        100     0       0  99.99 of 100     0
                left-wrist/gyro         12345     12245          0   100     200             -     1
                gap in left-wrist/gyro: 100 samples from 1200 of epoch E1, notRetained
                end of left-wrist/gyro unknown: its publisher did not report how many samples there are
                failure: Could not write.
                on disk after 103.4 ms (median), 205 ms (99 %), 300.1 ms (longest)

                log                   bytes  files
                phone_accelerometer  366000  phone_accelerometer-20261121025501.json
                left-wrist_gyro       99999  left-wrist_gyro-20261121025501.json left-wrist_gyro-20261121025501-01.json

                """)
    }

    @Test func dataThatWereNotMeasuredAreNamed() {
        var report = SessionReport.sample
        report.streams[0].origin = .measured
        report.streams[1].origin = .simulated
        let lines = report.table.split(separator: "\n")
        #expect(lines.contains("left-wrist/gyro is simulated"))
        #expect(!lines.contains { $0.hasPrefix("phone/accelerometer is") })
    }

    @Test func whatIsKnownBesidesIsSaid() throws {
        var report = SessionReport.sample
        report.failures = []
        report.restarts = [try WallTime(iso8601: "2026-11-21T02:55:01.5Z")]
        report.streams[0].jitter = SessionReport.Latency(count: 1999, median: 0.00012, p99: 0.0031, maximum: 0.25)
        report.streams[0].longestSilence = 0.26
        report.streams[1].longestSilence = 1
        report.streams[1].gaps = [
            Gap(
                epoch: "E1", from: 9, count: 0, reason: .epochEnded,
                date: try WallTime(iso8601: "2026-11-21T02:55:09Z"))
        ]
        report.streams[1].isEndKnown = true
        report.clocks = [
            ClockOffset(
                endpoint: "tcp://a:5551", first: 0.00123, last: -0.0005, uncertainty: 0.0001, drift: -0.0000012,
                comparisons: 3),
            ClockOffset(
                endpoint: "tcp://b:5551", first: -1.5, last: -1.5, uncertainty: 0.002, drift: nil, comparisons: 1),
        ]
        let lines = report.table.split(separator: "\n").map(String.init)
        #expect(
            Array(lines[3..<(lines.count - 3)]) == [
                "gap in left-wrist/gyro: an unknown number of samples of epoch E1, from 9 on, epochEnded, "
                    + "given up at 2026-11-21T02:55:09.000000Z",
                "interrupted; resumed at 2026-11-21T02:55:01.500000Z",
                "phone/accelerometer: jitter 0.1 ms (median), 3.1 ms (99 %), 250 ms (largest); longest silence 260 ms",
                "left-wrist/gyro: longest silence 1000 ms",
                "on disk after 103.4 ms (median), 205 ms (99 %), 300.1 ms (longest)",
                "clock of tcp://a:5551: 1.23 ms ahead of the recorder's, -0.5 ms at the end, each within 0.1 ms; "
                    + "drift -1.2 ppm",
                "clock of tcp://b:5551: -1500 ms ahead of the recorder's, each within 2 ms",
            ])
    }

    /// After an hour at 100 Hz and 10 s more, the publisher runs for another hour: in the same boot, in which the
    /// machine may have slept for the 10 s, or in another one.
    @Test(
        arguments: [
            (3_670, nil, 99.86), (3_660, 3_670, 100), (60, nil, nil), (60, 60, nil),
        ] as [(Double, Double?, Double?)])
    func aRateNeedsUptimesOfOneBoot(uptime: Double, elapsed: Double?, rate: Double?) throws {
        let start = try WallTime(iso8601: "2026-11-21T02:55:01Z")
        let restart = start.adding(3_610_000_000_000)
        var log = SessionRecord.Log(
            name: LogName("phone_gyro"), device: "phone", stream: "gyro", fields: ["uptime", "x"], rate: 100,
            epochs: [
                SessionRecord.Epoch(
                    epoch: "E1", clock: ClockReading(uptime: 60, date: start, elapsed: 60), replay: "", next: 360_000),
                SessionRecord.Epoch(
                    epoch: "E2", clock: ClockReading(uptime: uptime, date: restart, elapsed: elapsed), replay: "",
                    next: 360_000),
            ])
        log.counts.written = 720_000
        log.firstUptime = 60
        log.lastUptime = uptime + 3_600
        var record = SessionRecord(
            session: try SessionIdentifier("s1"), task: "", step: "", streams: ["phone/gyro"], format: .json,
            root: .array, status: .finished, startDate: start)
        record.logs = [log]
        let actual = SessionReport(record).streams[0].actualRate
        #expect(actual.map { ($0 * 100).rounded() / 100 } == rate)
    }

    @Test func aSessionWithoutStreamsHasATableToo() {
        var report = SessionReport.sample
        report.streams = []
        report.failures = []
        report.commitLatency.count = 0
        #expect(
            report.table == """
                stream  expected  received  recovered  lost  paused  rate/s  gaps

                log  bytes  files

                """)
    }
}

extension SessionReport {
    /// One whole stream, and one with every possible fault.
    static var sample: SessionReport {
        SessionReport(
            session: "s1", task: "walk", status: "finished", startDate: WallTime(nanosecondsSince1970: 0),
            endDate: WallTime(nanosecondsSince1970: 20_000_000_000),
            streams: [
                Stream(
                    stream: StreamName(device: "phone", stream: "accelerometer"), log: "phone_accelerometer",
                    files: ["phone_accelerometer-20261121025501.json"], bytes: 366_000, expected: 2000, received: 2000,
                    recovered: 100, duplicates: 3, lost: 0, paused: 0, gaps: [], isEndKnown: true, nominalRate: 100,
                    actualRate: 99.987, firstUptime: 1, lastUptime: 21),
                Stream(
                    stream: StreamName(device: "left-wrist", stream: "gyro"), log: "left-wrist_gyro",
                    files: ["left-wrist_gyro-20261121025501.json", "left-wrist_gyro-20261121025501-01.json"],
                    bytes: 99_999, expected: 12_345, received: 12_245, recovered: 0, duplicates: 0, lost: 100,
                    paused: 200, gaps: [Gap(epoch: "E1", from: 1200, count: 100, reason: .notRetained)],
                    isEndKnown: false, nominalRate: nil, actualRate: nil, firstUptime: nil, lastUptime: nil),
            ],
            commitLatency: Latency(count: 100, median: 0.1034, p99: 0.205, maximum: 0.30011),
            failures: ["Could not write."])
    }
}
