public import Messages
public import ZeroMQ

extension MessageBatch {
    /// Appends an event with an encoded body, without allocating.
    /// - Parameters:
    ///   - topic: `samples/<device>/<stream>`.
    ///   - body: the JSON body.
    ///   - packed: the matrix of a packed stream.
    ///   - time: the instant in the third frame.
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

    /// Appends an event that was published elsewhere, with its original `time` frame.
    package mutating func append(topic: [UInt8], body: [UInt8], packed: [UInt8]?, time: [UInt8]) {
        for frame in [topic, body, time] { frame.withUnsafeBytes { appendFrame($0) } }
        packed?.withUnsafeBytes { appendFrame($0) }
        endMessage()
    }
}
