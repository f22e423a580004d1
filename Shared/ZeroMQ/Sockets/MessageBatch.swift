/// Messages that are received or sent together, in one run of memory that is used again for the next batch.
///
/// Each frame's bytes are appended once; nothing is allocated per message. Read the messages in place with
/// `withUnsafeMessages`, or copy one out with `subscript`. Hand the batch back to `Subscriber.next(reusing:)` to
/// spare its memory.
public struct MessageBatch: Sendable {
    private var bytes: [UInt8] = []
    /// Where each frame ends in `bytes`; a frame starts where the one before it ends.
    private var frameEnds: [Int] = []
    /// How many frames there are up to the end of each message.
    private var messageEnds: [Int] = []
    /// Where messages came from, of those that this was asked for.
    private var origins: [(message: Int, address: String)] = []

    /// An empty batch.
    public init() {}

    /// How many messages there are.
    public var count: Int { messageEnds.count }

    /// Whether there is none.
    public var isEmpty: Bool { messageEnds.isEmpty }

    /// The bytes of all frames.
    public var byteCount: Int { bytes.count }

    /// A copy of one message's frames.
    public subscript(message: Int) -> [[UInt8]] {
        withUnsafeMessages { messages in
            (0..<messages.frameCount(of: message)).map { Array(messages.frame($0, of: message)) }
        }
    }

    /// Forgets the messages and keeps the memory, unless one huge batch made it large.
    public mutating func removeAll() {
        let keepsMemory = bytes.capacity <= 16 << 20
        bytes.removeAll(keepingCapacity: keepsMemory)
        frameEnds.removeAll(keepingCapacity: keepsMemory)
        messageEnds.removeAll(keepingCapacity: keepsMemory)
        origins.removeAll(keepingCapacity: keepsMemory)
    }

    /// Lends the messages' memory. Nothing of it may leave the closure.
    public func withUnsafeMessages<Result, Failure: Error>(
        _ body: (UnsafeMessages) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        // The four buffers are lent in turn; typed throws do not pass through `withUnsafeBytes`, so a result does.
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

    /// Appends a frame to the last message, or the first of a new one. Its bytes are copied.
    public mutating func appendFrame(_ frame: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: frame)
        frameEnds.append(bytes.count)
    }

    /// Notes where the message that is being appended came from.
    mutating func noteOrigin(_ address: String) { origins.append((messageEnds.count, address)) }

    /// Makes a message of the frames since the one before.
    public mutating func endMessage() {
        messageEnds.append(frameEnds.count)
    }
}

/// The messages of a batch, lent for the length of a closure.
public struct UnsafeMessages {
    let bytes: UnsafeRawBufferPointer
    let frameEnds: UnsafeBufferPointer<Int>
    let messageEnds: UnsafeBufferPointer<Int>
    let origins: UnsafeBufferPointer<(message: Int, address: String)>

    /// How many messages there are.
    public var count: Int { messageEnds.count }

    /// How many frames a message has: at least one.
    public func frameCount(of message: Int) -> Int {
        messageEnds[message] - (message == 0 ? 0 : messageEnds[message - 1])
    }

    /// The IP address of a message's sender, where `Subscriber.tellOrigins(of:)` asked for it and it came over a network.
    public func origin(of message: Int) -> String? { origins.first { $0.message == message }?.address }

    /// One frame's bytes.
    public func frame(_ frame: Int, of message: Int) -> UnsafeRawBufferPointer {
        let index = (message == 0 ? 0 : messageEnds[message - 1]) + frame
        precondition(index < messageEnds[message], "message \(message) has no frame \(frame)")
        let start = index == 0 ? 0 : frameEnds[index - 1]
        return UnsafeRawBufferPointer(rebasing: bytes[start..<frameEnds[index]])
    }
}
