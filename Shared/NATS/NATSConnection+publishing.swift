import CNATS

extension NATSConnection {
    private static let identifierHeader = "Nats-Msg-Id"
    /// JetStream's error for a stream that is full, or whose store failed.
    private static let storeFailed: UInt32 = 10_077

    /// Publishes a message. What became of it is said to the handler that the connection was made with.
    /// - Parameters:
    ///   - identifier: of the message: JetStream stores only the first of several with the same one.
    ///   - limit: milliseconds until nothing is known of it.
    /// - Throws: if it was not sent; the handler is not called then.
    package func publish(
        _ data: [UInt8], to subject: String, identifier: String, headers: [(name: String, value: String)],
        limit: Int64 = NATSConnection.requestLimit
    ) throws(NATSError) {
        var made: OpaquePointer?
        let status = data.withUnsafeBytes {
            natsMsg_Create(&made, subject, nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        try check(status, during: "publish to \(subject)")
        // libnats takes the message, and sets this to nil, unless it fails.
        defer { natsMsg_Destroy(made) }
        for (name, value) in headers {
            try check(natsMsgHeader_Set(made, name, value), during: "publish to \(subject)")
        }
        let sent = identifier.withCString { identifier in
            var options = jsPubOptions()
            jsPubOptions_Init(&options)
            options.MsgId = identifier
            options.MaxWait = limit
            return withJetStream { js_PublishMsgAsync($0, &made, &options) }
        }
        try check(sent, during: "publish to \(subject)")
    }

    /// What libnats says of a message.
    static func result(
        of message: OpaquePointer, _ acknowledgement: UnsafeMutablePointer<jsPubAck>?,
        _ failure: UnsafeMutablePointer<jsPubAckErr>?
    ) -> PublishResult {
        var value: UnsafePointer<CChar>?
        _ = natsMsgHeader_Get(message, identifierHeader, &value)
        let identifier = value.map { String(cString: $0) } ?? ""
        if let acknowledgement {
            return PublishResult(
                identifier: identifier,
                outcome: .stored(
                    sequence: acknowledgement.pointee.Sequence, isRepeat: acknowledgement.pointee.Duplicate))
        }
        let failure = failure?.pointee
        let text =
            failure?.ErrText.map { String(cString: $0) } ?? failure.map { String(cString: natsStatus_GetText($0.Err)) }
            ?? "no answer"
        return PublishResult(identifier: identifier, outcome: outcome(failure?.Err, failure?.ErrCode.rawValue, text))
    }

    private static func outcome(
        _ status: natsStatus?, _ number: UInt32?, _ text: String
    ) -> PublishResult.Outcome {
        if number == storeFailed { return .full(text) }
        if status == NATS_NO_RESPONDERS { return .notStored(text) }
        // A refusal may be that of a server which no longer leads, or "in process" of what is stored a moment later.
        return .unknown(text)
    }
}
