import Messages

/// A `samples.v1` event, decoded by the laboratory.
struct HeardBatch: Sendable {
    let device: String
    let stream: String
    let epoch: String
    let sequence: Int
    /// The columns of a row, `uptime` first.
    let columns: Int
    /// Seconds to add to an uptime to get wall time.
    let dateOffset: Double
    /// The values of all rows, one after the other.
    let values: [Double]

    /// Reads the frames after the topic.
    /// - Parameters:
    ///   - body: the JSON body.
    ///   - packed: the matrix of a packed batch.
    init?(body: some Sequence<UInt8>, packed: UnsafeRawBufferPointer?) {
        guard let body = try? StrictJSON(body), let device = body["device"]?.string,
            let stream = body["stream"]?.string, let epoch = body["epoch"]?.string,
            let sequence = body["sequence"]?.integer, let count = body["count"]?.integer,
            let columns = body["fields"]?.array?.count, let clock = body["clock"],
            let uptime = clock["uptime"]?.number, let date = clock["date"]?.string,
            let time = try? WallTime(iso8601: date)
        else { return nil }
        if let packed {
            guard packed.count == count * columns * 8 else { return nil }
            values = (0..<count * columns).map { index in
                Double(
                    bitPattern: UInt64(
                        littleEndian: packed.loadUnaligned(fromByteOffset: index * 8, as: UInt64.self)))
            }
        } else {
            guard let rows = body["values"]?.array, rows.count == count else { return nil }
            values = rows.flatMap { $0.array?.map(Cell.number) ?? [] }
        }
        guard values.count == count * columns else { return nil }
        self.device = device
        self.stream = stream
        self.epoch = epoch
        self.sequence = sequence
        self.columns = columns
        dateOffset = Double(time.nanosecondsSince1970) / 1e9 - uptime
    }
}
