import Messages

/// A batch of samples as a listener decodes it, packed or not.
struct HeardBatch {
    let batch: SampleBatch
    let isPacked: Bool
    let rows: [[Double]]

    init(_ batch: SampleBatch, packed: [UInt8]?) {
        self.batch = batch
        isPacked = packed != nil
        guard let packed else {
            rows = batch.values ?? []
            return
        }
        let values = stride(from: 0, to: packed.count, by: 8).map { start in
            Double(
                bitPattern: packed[start..<start + 8].reversed().reduce(0) { bits, byte in bits << 8 | UInt64(byte) })
        }
        let columns = batch.fields.count
        rows = stride(from: 0, to: values.count, by: columns).map { Array(values[$0..<$0 + columns]) }
    }
}
