/// Messages that are received or sent together, in contiguous memory that is reused for the next batch.
///
/// Each frame's bytes are appended once; nothing is allocated per message. Read the messages in place with
/// `withUnsafeMessages`, or copy one with `subscript`. Pass the batch back to `Subscriber.next(reusing:)` to reuse its memory.
public struct MessageBatch: Sendable {
    private var bytes: [UInt8] = []
    /// The end of each frame in `bytes`; a frame starts at the end of the previous one.
    private var frameEnds: [Int] = []
    /// The number of frames up to the end of each message.
    private var messageEnds: [Int] = []
    /// The senders' addresses of messages whose origin is recorded.
    private var origins: [(message: Int, address: String)] = []

    /// Creates an empty batch.
    public init() {}

    /// The number of messages.
    public var count: Int { messageEnds.count }

    /// Whether there are no messages.
    public var isEmpty: Bool { messageEnds.isEmpty }

    /// The total size of all frames in bytes.
    public var byteCount: Int { bytes.count }

    /// A copy of one message's frames.
    public subscript(message: Int) -> [[UInt8]] {
        withUnsafeMessages { messages in
            (0..<messages.frameCount(of: message)).map { Array(messages.frame($0, of: message)) }
        }
    }

    /// Removes the messages and keeps the memory, unless a huge batch made it large.
    public mutating func removeAll() {
        let keepsMemory = bytes.capacity <= 16 << 20
        bytes.removeAll(keepingCapacity: keepsMemory)
        frameEnds.removeAll(keepingCapacity: keepsMemory)
        messageEnds.removeAll(keepingCapacity: keepsMemory)
        origins.removeAll(keepingCapacity: keepsMemory)
    }

    /// Lends the messages' memory, which must not leave the closure.
    public func withUnsafeMessages<Result, Failure: Error>(
        _ body: (UnsafeMessages) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The four buffers are lent in turn; typed throws do not pass through `withUnsafeBytes`, but a result does.
        let result: Swift.Result<Result, Failure> = bytes.withUnsafeBytes { bytes in
            frameEnds.withUnsafeBufferPointer { frameEnds in
                messageEnds.withUnsafeBufferPointer { messageEnds in
                    origins.withUnsafeBufferPointer { origins in
                        let messages = UnsafeMessages(
                            bytes: bytes, frameEnds: frameEnds, messageEnds: messageEnds, origins: origins)
                        do throws(Failure) { return .success(try body(messages)) } catch { return .failure(error) }
                    }
                }
            }
        }
        return try result.get()
    }

    /// Appends a copy of a frame to the unfinished message.
    public mutating func appendFrame(_ frame: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: frame)
        frameEnds.append(bytes.count)
    }

    /// Records the sender's address of the unfinished message.
    mutating func noteOrigin(_ address: String) { origins.append((messageEnds.count, address)) }

    /// Ends the unfinished message: the frames since the previous one.
    public mutating func endMessage() {
        messageEnds.append(frameEnds.count)
    }
}

/// The messages of a batch, lent for the duration of a closure.
public struct UnsafeMessages {
    let bytes: UnsafeRawBufferPointer
    let frameEnds: UnsafeBufferPointer<Int>
    let messageEnds: UnsafeBufferPointer<Int>
    let origins: UnsafeBufferPointer<(message: Int, address: String)>

    /// The number of messages.
    public var count: Int { messageEnds.count }

    /// The number of a message's frames: at least one.
    public func frameCount(of message: Int) -> Int {
        messageEnds[message] - (message == 0 ? 0 : messageEnds[message - 1])
    }

    /// The IP address of a message's sender, if `Subscriber.tellOrigins(of:)` requested it and the message came over a network.
    public func origin(of message: Int) -> String? { origins.first { $0.message == message }?.address }

    /// One frame's bytes.
    public func frame(_ frame: Int, of message: Int) -> UnsafeRawBufferPointer {
        let index = (message == 0 ? 0 : messageEnds[message - 1]) + frame
        precondition(index < messageEnds[message], "message \(message) has no frame \(frame)")
        let start = index == 0 ? 0 : frameEnds[index - 1]
        return UnsafeRawBufferPointer(rebasing: bytes[start..<frameEnds[index]])
    }
}
