package import Messages

extension Publication.Replay {
    /// Encodes the reply of a complete replay. This takes milliseconds, so don't call it on the core's thread.
    package func reply() throws(RequestError) -> (SamplesReplay.Reply, [[UInt8]]) {
        let (reply, frames) = try SamplesReplay.joined(
            found.map { answer in answer.map(\.reply) }, to: hasRanges ? ranges : nil)
        return (reply, frames)
    }
}

extension Publication.Retained {
    /// The reply for one range, and the frames with its samples.
    fileprivate var reply: (reply: SamplesReplay.Reply, frames: [[UInt8]]) {
        let reply = SamplesReplay.Reply(
            from: Int(answer.from), count: answer.count, first: Int(answer.first), last: Int(answer.last))
        return (reply, answer.frames(encoder) { sleepWatch.reading(of: $0.rows, count: $0.count, at: clock) })
    }
}

extension ReplayAnswer {
    /// The batches as further frames of a reply: each one's body, followed by its matrix if it is packed.
    ///
    /// They equal the published ones except for the clock, which is read for the reply, and the boundaries between batches.
    fileprivate func frames(_ encoder: SampleBatchEncoder, clock: (Slice) -> ClockReading) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var buffer = ByteBuffer(capacity: 1 << 12)
        for slice in slices {
            let clock = clock(slice)
            slice.rows.withUnsafeBufferPointer { rows in
                buffer.removeAll()
                if let records = slice.records {
                    encoder.encode(
                        sequence: Int(slice.firstSequence), clock: clock, uptimes: rows, values: records, into: &buffer)
                } else {
                    encoder.encode(
                        sequence: Int(slice.firstSequence), count: slice.count, clock: clock, rows: rows, into: &buffer)
                }
                frames.append(buffer.withUnsafeBytes { Array($0) })
                guard encoder.isPacked else { return }
                buffer.removeAll()
                encoder.encodePacked(rows, into: &buffer)
                frames.append(buffer.withUnsafeBytes { Array($0) })
            }
        }
        return frames
    }
}
