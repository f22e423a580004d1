import Files
import Messages
import Recording
package import StepDetection
import SystemPackage
package import TextInput

/// The rows of a session's stream, read as the session describes them: with samples that were filled in after the session, and
/// with columns of any name.
struct StreamRows: Hashable {
    let session: SessionDirectory
    let record: SessionRecord
    let log: SessionRecord.Log

    /// Passes each row, in order.
    func read(_ take: StepCount.Take) throws(TextInputError) {
        let name = session.directory.path.string
        var failure: TextInputError?
        do throws(RecordingError) {
            try forEachRow { row in
                do throws(TextInputError) {
                    try take(row, name)
                } catch {
                    failure = error
                }
                return failure == nil
            }
        } catch {
            throw TextInputError(.unreadable, "\(error)")
        }
        if let failure { throw failure }
    }

    /// - Parameter body: returns whether to continue.
    private func forEachRow(_ body: (AccelerationRow) -> Bool) throws(RecordingError) {
        var reader = try StreamReader(log, of: record, in: session)
        let fields = Array(log.fields.dropFirst())
        // A single field is the magnitude, as in live counting.
        let isMagnitude = fields.count == 1
        let x: Int? = isMagnitude ? 0 : fields.firstIndex(of: "x") ?? fields.firstIndex(of: "magnitude")
        let places = isMagnitude ? [x] : [x, fields.firstIndex(of: "y"), fields.firstIndex(of: "z")]
        var unit = log.unit(of: log.epochs.first)
        var goesOn = body(.marker(unit: unit))
        var epochChanges = 0
        while goesOn, let item = try reader.next() {
            guard case .sample = item else { continue }
            if reader.epochChanges != epochChanges {
                epochChanges = reader.epochChanges
                let own = log.unit(of: log.epoch(reader.epoch))
                if own != unit, !body(.marker(unit: own)) { return }
                unit = own
            }
            reader.withSample { bytes, timestamp, values in
                func number(_ range: Range<Int>) -> Double {
                    DecimalParser.parse(UnsafeRawBufferPointer(rebasing: bytes[range])) ?? .nan
                }
                var sample = SIMD4<Double>(number(timestamp), 0, 0, 0)
                if x == nil { sample[1] = .nan }
                for (axis, place) in places.enumerated() {
                    if let place { sample[axis + 1] = number(values[place]) }
                }
                goesOn = body((0..<4).allSatisfy { sample[$0].isFinite } ? .sample(sample) : .none)
            }
        }
    }
}

extension StepCount {
    /// Counts the steps in a recording.
    package init(
        _ input: CountInput, perG: Double? = nil, placement: SensorPlacement = .unknown,
        strictness: StepStrictness = .normal
    ) throws(TextInputError) {
        guard let rows = input.rows else {
            try self.init(ofFiles: input.files, perG: perG, placement: placement, strictness: strictness)
            return
        }
        try self.init(of: input.name, perG: perG, placement: placement, strictness: strictness) {
            (take) throws(TextInputError) in try rows.read(take)
        }
    }
}
