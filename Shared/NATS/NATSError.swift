import CNATS

/// Why NATS did not do something. Reads as a sentence: `publish to holdfast.a.b.c: No responders`.
package struct NATSError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it is. Open: servers may add more.
    package struct Code: Hashable, Sendable {
        /// libnats' status.
        package let status: UInt32
        /// JetStream's error number; 0 if the failure is none of JetStream.
        package let number: UInt32

        package init(status: UInt32, number: UInt32 = 0) {
            self.status = status
            self.number = number
        }

        /// No answer came in time.
        package static let timedOut = Code(status: NATS_TIMEOUT.rawValue)
    }

    package let code: Code
    /// What was being done, with what.
    package let operation: String
    /// What the server said about it, if it did.
    package let reason: String?

    package init(_ code: Code, during operation: String, reason: String? = nil) {
        self.code = code
        self.operation = operation
        self.reason = reason
    }

    /// libnats keeps the text of older errors: only the status and JetStream's number are of this one.
    init(_ status: natsStatus, _ number: jsErrCode = jsErrCode(0), during operation: String, reason: String? = nil) {
        self.init(
            Code(status: status.rawValue, number: number.rawValue), during: operation,
            reason: reason)
    }

    package var description: String {
        let text = reason ?? String(cString: natsStatus_GetText(natsStatus(code.status)))
        return "\(operation): \(text)\(code.number == 0 ? "" : " (JetStream error \(code.number))")"
    }

    /// No answer came in time: what was requested may have been done.
    package var isTimeout: Bool { code.status == NATS_TIMEOUT.rawValue }

    /// No server takes the request at present: it was not done.
    package var isUnavailable: Bool {
        [NATS_NO_RESPONDERS, NATS_CONNECTION_DISCONNECTED, NATS_NOT_YET_CONNECTED, NATS_NO_SERVER]
            .contains { $0.rawValue == code.status }
    }

    /// The stream, the consumer, the message or the key does not exist.
    package var isNotFound: Bool {
        code.status == NATS_NOT_FOUND.rawValue || [10_014, 10_037, 10_059].contains(code.number)
    }

    /// The stream has no such message. A server that does not know the stream at present says something else.
    package var isMessageNotFound: Bool {
        code.number == 10_037 || (code.status == NATS_NOT_FOUND.rawValue && code.number == 0)
    }

    /// A key or a subject has another last revision than was expected.
    package var isWrongRevision: Bool { code.number == 10_071 }

    /// The server does not let this user do it.
    package var isNotPermitted: Bool {
        [NATS_NOT_PERMITTED, NATS_CONNECTION_AUTH_FAILED].contains { $0.rawValue == code.status }
    }
}

/// Throws if libnats did not succeed.
func check(
    _ status: natsStatus, _ number: jsErrCode = jsErrCode(0), during operation: @autoclosure () -> String
) throws(NATSError) {
    if status != NATS_OK { throw NATSError(status, number, during: operation()) }
}
