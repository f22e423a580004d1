package import Messages

extension Publication.Replay {
    /// The reply, when it is complete. It takes milliseconds to make: not to be done on the core's thread.
    package func reply() throws(RequestError) -> (SamplesReplay.Reply, [[UInt8]]) {
        if !hasRanges, let first = found.first { return try first.get().reply }
        var parts: [SamplesReplay.Reply.Part] = []
        var frames: [[UInt8]] = []
        for (range, found) in zip(ranges, found) {
            switch found {
            case .success(let retained):
                let (reply, more) = retained.reply
                parts.append(SamplesReplay.Reply.Part(reply, frames: more.count))
                frames += more
            case .failure(let error):
                parts.append(SamplesReplay.Reply.Part(error, from: range.from))
            }
        }
        return (SamplesReplay.Reply(parts), frames)
    }
}

extension Publication.Retained {
    /// What a reply says of one stream's samples, and the frames that hold them.
    fileprivate var reply: (SamplesReplay.Reply, [[UInt8]]) {
        let reply = SamplesReplay.Reply(
            from: Int(answer.from), count: answer.count, first: Int(answer.first), last: Int(answer.last))
        return (reply, answer.frames(encoder) { sleepWatch.reading(of: $0.rows, count: $0.count, at: clock) })
    }
}

extension ReplayAnswer {
    /// The batches as further frames of a reply: each one's body, followed by its matrix if it is packed.
    ///
    /// The same as they were published but for the clock, which is read for the reply, and the cuts between batches.
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
