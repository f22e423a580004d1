import CNATS

/// A failure of NATS. Reads as a sentence: `publish to holdfast.a.b.c: No responders`.
package struct NATSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure. Open: servers may add more.
    package struct Code: Hashable, Sendable {
        /// The status of libnats.
        package let status: UInt32
        /// JetStream's error number; 0 if JetStream reported no error.
        package let number: UInt32

        package init(status: UInt32, number: UInt32 = 0) {
            self.status = status
            self.number = number
        }

        /// No reply arrived in time.
        package static let timedOut = Code(status: NATS_TIMEOUT.rawValue)
    }

    package let code: Code
    /// The failed operation and its object.
    package let operation: String
    /// The server's reason, if it gave one.
    package let reason: String?

    package init(_ code: Code, during operation: String, reason: String? = nil) {
        self.code = code
        self.operation = operation
        self.reason = reason
    }

    /// libnats keeps the text of older errors, so only the status and JetStream's number belong to this error.
    init(_ status: natsStatus, _ number: jsErrCode = jsErrCode(0), during operation: String, reason: String? = nil) {
        self.init(
            Code(status: status.rawValue, number: number.rawValue), during: operation,
            reason: reason)
    }

    package var description: String {
        let text = reason ?? String(cString: natsStatus_GetText(natsStatus(code.status)))
        return "\(operation): \(text)\(code.number == 0 ? "" : " (JetStream error \(code.number))")"
    }

    /// No reply arrived in time: the request may have been carried out.
    package var isTimeout: Bool { code.status == NATS_TIMEOUT.rawValue }

    /// No server accepts the request at present: it was not carried out.
    package var isUnavailable: Bool {
        [NATS_NO_RESPONDERS, NATS_CONNECTION_DISCONNECTED, NATS_NOT_YET_CONNECTED, NATS_NO_SERVER]
            .contains { $0.rawValue == code.status }
    }

    /// The stream, the consumer, the message or the key does not exist.
    package var isNotFound: Bool {
        code.status == NATS_NOT_FOUND.rawValue || [10_014, 10_037, 10_059].contains(code.number)
    }

    /// The stream has no such message. A server that does not currently know the stream reports a different error.
    package var isMessageNotFound: Bool {
        code.number == 10_037 || (code.status == NATS_NOT_FOUND.rawValue && code.number == 0)
    }

    /// The message exceeds the server's size limit and was not sent.
    package var isTooLarge: Bool { code.status == NATS_MAX_PAYLOAD.rawValue }

    /// The last revision of a key or subject is not the expected one.
    package var isWrongRevision: Bool { code.number == 10_071 }

    /// The server does not permit this user to do it.
    package var isNotPermitted: Bool {
        [NATS_NOT_PERMITTED, NATS_CONNECTION_AUTH_FAILED].contains { $0.rawValue == code.status }
    }
}

/// Throws if libnats failed.
func check(
    _ status: natsStatus, _ number: jsErrCode = jsErrCode(0), during operation: @autoclosure () -> String
) throws(NATSError) {
    if status != NATS_OK { throw NATSError(status, number, during: operation()) }
}
