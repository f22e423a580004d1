import CNATS

extension NATSConnection {
    private static let identifierHeader = "Nats-Msg-Id"
    /// JetStream's error code for a full stream or a failed store.
    private static let storeFailed: UInt32 = 10_077
    /// JetStream's error code for a message above the stream's size limit.
    private static let messageTooLarge: UInt32 = 10_054

    /// Publishes a message. The connection's `acknowledged` handler receives the result.
    /// - Parameters:
    ///   - identifier: identifies the message: JetStream stores only the first of several with the same identifier.
    ///   - limit: milliseconds after which the result counts as unknown.
    /// - Throws: if the message was not sent. The handler is then not called.
    package func publish(
        _ data: [UInt8], to subject: String, identifier: String, headers: [(name: String, value: String)],
        limit: Int64 = NATSConnection.requestLimit
    ) throws(NATSError) {
        var made: OpaquePointer?
        let status = data.withUnsafeBytes {
            natsMsg_Create(&made, subject, nil, $0.baseAddress?.assumingMemoryBound(to: CChar.self), Int32($0.count))
        }
        try check(status, during: "publish to \(subject)")
        // libnats takes ownership of the message and sets this to nil, unless it fails.
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

    /// The result that libnats reports for a message.
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
        if number == messageTooLarge { return .tooLarge(text) }
        if status == NATS_NO_RESPONDERS { return .notStored(text) }
        // The refusal may come from a server that no longer leads, or mean "in process" for a message that is stored a moment
        // later.
        return .unknown(text)
    }
}
