import Messages
import Recording
import Testing

@Suite(.timeLimit(.minutes(1)))
struct SessionReportTableTests {
    @Test func theTableIsAlignedAndNamesEveryLoss() {
        #expect(
            SessionReport.sample.table == """
                stream               expected  received  recovered  lost  paused        rate/s  gaps
                phone/accelerometer      2000      2000        100     0       0  99.99 of 100     0
                left-wrist/gyro         12345     12245          0   100     200             -     1
                gap in left-wrist/gyro: 100 samples from 1200 of epoch E1, notRetained
                end of left-wrist/gyro unknown: its publisher did not say how many samples there are
                failure: Could not write.
                on disk after 103.4 ms (median), 205 ms (99 %), 300.1 ms (longest)

                log                   bytes  files
                phone_accelerometer  366000  phone_accelerometer-20261121025501.json
                left-wrist_gyro       99999  left-wrist_gyro-20261121025501.json left-wrist_gyro-20261121025501-01.json

                """)
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
    /// One whole stream, and one with everything that can be wrong.
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
