public import Messages
public import ZeroMQ

extension MessageBatch {
    /// Appends an event whose body is encoded already, without allocating.
    /// - Parameters:
    ///   - topic: `samples/<device>/<stream>`.
    ///   - body: the JSON body.
    ///   - packed: the matrix, for a packed stream.
    ///   - time: the instant that the third frame names.
    public mutating func append(
        topic: [UInt8], body: borrowing ByteBuffer, packed: borrowing ByteBuffer?, at time: WallTime
    ) {
        topic.withUnsafeBytes { appendFrame($0) }
        body.withUnsafeBytes { appendFrame($0) }
        EventTime.withText(of: time) { appendFrame($0) }
        switch packed {
        case .some(let packed): packed.withUnsafeBytes { appendFrame($0) }
        case .none: break
        }
        endMessage()
    }

    /// Appends an event as it was published elsewhere, with the instant that its frame `time` names.
    package mutating func append(topic: [UInt8], body: [UInt8], packed: [UInt8]?, time: [UInt8]) {
        for frame in [topic, body, time] { frame.withUnsafeBytes { appendFrame($0) } }
        packed?.withUnsafeBytes { appendFrame($0) }
        endMessage()
    }
}
