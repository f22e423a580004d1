import Messages

extension SamplesReplay.Reply {
    /// Says which samples an answer holds.
    init(_ answer: ReplayAnswer) {
        self.init(from: Int(answer.from), count: answer.count, first: Int(answer.first), last: Int(answer.last))
    }
}

extension SamplingEngine.Retained {
    /// The reply to the request for one stream's samples.
    var reply: (SamplesReplay.Reply, [[UInt8]]) {
        (SamplesReplay.Reply(answer), answer.frames(encoder, clock: clock))
    }
}

extension SamplesReplay {
    /// The reply to a request for several streams' samples.
    static func reply(
        _ found: [Result<SamplingEngine.Retained, RequestError>], to ranges: [Range]
    ) -> (Reply, [[UInt8]]) {
        var parts: [Reply.Part] = []
        var frames: [[UInt8]] = []
        for (range, found) in zip(ranges, found) {
            switch found {
            case .success(let retained):
                let (reply, more) = retained.reply
                parts.append(Reply.Part(reply, frames: more.count))
                frames += more
            case .failure(let error):
                parts.append(Reply.Part(error, from: range.from))
            }
        }
        return (Reply(parts), frames)
    }
}

extension ReplayAnswer {
    /// The batches as further frames of a reply: each one's body, followed by its matrix where it is packed.
    ///
    /// The same as they were published but for the clock, which is read for the reply, and the cuts between batches.
    func frames(_ encoder: SampleBatchEncoder, clock: ClockReading) -> [[UInt8]] {
        var frames: [[UInt8]] = []
        var buffer = ByteBuffer(capacity: 1 << 12)
        for slice in slices {
            slice.rows.withUnsafeBufferPointer { rows in
                buffer.removeAll()
                encoder.encode(
                    sequence: Int(slice.firstSequence), count: slice.count, clock: clock, rows: rows, into: &buffer)
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
