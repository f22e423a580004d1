import Messages
import Testing

@testable import StepCounterCore

/// The columns that contain the acceleration, and the values read from them.
@Suite(.timeLimit(.minutes(1)))
struct AccelerationLayoutTests {
    /// Reads the rows of a batch, packed or not, through the layout.
    private func read(
        _ fields: [String], _ rows: [[Double]], isPacked: Bool, _ range: Range<Int>
    ) throws -> [SIMD4<Double>] {
        let encoder = SampleBatchEncoder(
            source: "test", device: "d", stream: "s", epoch: "e", fields: fields, isPacked: isPacked)
        var body = ByteBuffer(capacity: 1_024)
        var packed = ByteBuffer(capacity: 1_024)
        rows.flatMap { $0 }.withUnsafeBufferPointer { values in
            encoder.encode(
                sequence: 0, count: rows.count, clock: ClockReading(uptime: 0, date: .now), rows: values, into: &body)
            if isPacked { encoder.encodePacked(values, into: &packed) }
        }
        var samples: [SIMD4<Double>] = []
        try body.withUnsafeBytes { frame in
            try packed.withUnsafeBytes { matrix in
                let batch = ReceivedBatch(try SampleBody(frame), frame, packed: isPacked ? matrix : nil)
                try AccelerationLayout(fields).forEach(range, of: batch) { _, sample in samples.append(sample) }
            }
        }
        return samples
    }

    @Test(arguments: [false, true])
    func axesAreFoundByTheirNames(isPacked: Bool) throws {
        let rows = [[0, 9, 1, 2, 3], [0.5, 9, 4, 5, 6], [1, 9, 7, 8, 9]]
        let samples = try read(["uptime", "t", "z", "y", "x"], rows, isPacked: isPacked, 1..<3)
        #expect(samples == [SIMD4(0.5, 6, 5, 4), SIMD4(1, 9, 8, 7)])
    }

    @Test(arguments: [false, true])
    func aMagnitudeWillDo(isPacked: Bool) throws {
        #expect(try read(["uptime", "magnitude"], [[0, 1.5]], isPacked: isPacked, 0..<1) == [SIMD4(0, 1.5, 0, 0)])
        #expect(try read(["uptime", "a"], [[0, 1.5]], isPacked: isPacked, 0..<1) == [SIMD4(0, 1.5, 0, 0)])
    }

    @Test(arguments: [["uptime"], ["x", "y", "z"], ["uptime", "x", "y"], ["t", "x", "y", "z"], []])
    func otherFieldsAreRefused(fields: [String]) {
        #expect(throws: MessageError.self) { try AccelerationLayout(fields) }
    }

    /// A label beside the axes is skipped, and axes that are not numbers are refused.
    @Test func theNumbersOfRecordsAreRead() throws {
        let fields = ["uptime", "label", "x", "y", "z"]
        let types: [FieldType] = [.number, .text, .number, .number, .number]
        var values = RecordValues()
        for record in [#""]]",1,2,3"#, #"null,4,null,"Infinity""#] { values.append(record.utf8) }
        let encoder = SampleBatchEncoder(
            source: "test", device: "d", stream: "s", epoch: "e", fields: fields, types: types, isPacked: false)
        var body = ByteBuffer(capacity: 1_024)
        [0.5, 1].withUnsafeBufferPointer { uptimes in
            encoder.encode(
                sequence: 0, clock: ClockReading(uptime: 0, date: .now), uptimes: uptimes, values: values.all,
                into: &body)
        }
        var samples: [SIMD4<Double>] = []
        try body.withUnsafeBytes { frame in
            let batch = ReceivedBatch(try SampleBody(frame), frame, packed: nil)
            try AccelerationLayout(batch.fields, batch.types).forEach(0..<2, of: batch) { samples.append($1) }
        }
        #expect(samples.count == 2)
        #expect(samples[0] == SIMD4(0.5, 1, 2, 3))
        #expect(samples[1].y == 4 && samples[1].z.isNaN && samples[1].w == .infinity)
        let error = #expect(throws: MessageError.self) {
            try AccelerationLayout(fields, [.number, .text, .number, .text, .number])
        }
        #expect(error?.message == "its field y is text: an acceleration is a number")
    }

    @Test func anUnitIsReadAsPeopleWriteIt() {
        #expect(AccelerationUnit("g")?.perG == 1)
        for text in ["m/s2", "m/s²", "m/s^2"] { #expect(AccelerationUnit(text)?.perG == 9.80665) }
        #expect(AccelerationUnit("rad/s") == nil)
    }
}
