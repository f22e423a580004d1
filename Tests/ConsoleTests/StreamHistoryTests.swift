import ConsoleCore
import Messages
import Testing

struct StreamHistoryTests {
    /// A publisher's clock may be set to any date, and a sample may have any uptime.
    @Test func aPlotOfAllSamplesHasThoseWithTimesThatNoClockCanHave() throws {
        let description = StreamDescription(
            source: "sensor-publisher", sequence: 0, device: "wrist", stream: "accelerometer", epoch: "E",
            state: .running, fields: ["uptime", "x"], unit: nil, rate: 100, packed: false, nextSequence: 2,
            replay: "tcp://127.0.0.1:5551", clock: ClockReading(uptime: 0, date: WallTime(seconds: 1_800_000_000)))
        var history = StreamHistory(description, nil, columns: 800)
        for (sequence, date, uptime) in [(0, "1678-01-01T00:00:00Z", -1e9), (1, "2261-12-31T00:00:00Z", 1e9)] {
            let batch = SampleBatch(
                source: "sensor-publisher", sequence: sequence, device: "wrist", stream: "accelerometer", epoch: "E",
                count: 1, fields: ["uptime", "x"],
                clock: ClockReading(uptime: 0, date: try WallTime(iso8601: date)),
                values: [[uptime, Double(sequence)]])
            try history.take([try WireCoding.encode(batch)][...])
        }
        let text = String(decoding: history.text, as: UTF8.self)
        #expect(text.contains(#""times":[-4500000000,"#) && text.contains(#""x":[[0,0],[1,1]]"#), "\(text)")
    }
}
