import CNATS
import Glibc

/// A message of a stream.
package struct NATSMessage: Hashable, Sendable {
    package let subject: String
    package let data: [UInt8]
    /// Those of its headers that were requested.
    package let headers: [String: String]
    /// Its number in the stream, counted from 1.
    package let sequence: UInt64
    /// When the server stored it, in nanoseconds since 1970.
    package let time: Int64

    init(_ message: OpaquePointer, headers names: [String], sequence: UInt64, time: Int64) {
        subject = natsMsg_GetSubject(message).map { String(cString: $0) } ?? ""
        data = Self.data(of: message)
        var headers: [String: String] = [:]
        for name in names { headers[name] = Self.header(name, of: message) }
        self.headers = headers
        self.sequence = sequence
        self.time = time
    }

    static func header(_ name: String, of message: OpaquePointer) -> String? {
        var value: UnsafePointer<CChar>?
        guard natsMsgHeader_Get(message, name, &value) == NATS_OK else { return nil }
        return value.map { String(cString: $0) }
    }

    static func data(of message: OpaquePointer) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: natsMsg_GetData(message), count: Int(natsMsg_GetDataLength(message))))
    }
}

extension NATSConnection {
    /// Which message of a stream is wanted.
    package enum Choice: Hashable, Sendable {
        case sequence(UInt64)
        /// The first of a subject from a number on.
        case next(of: String, from: UInt64)
        /// The last of a subject, at any replica: it may not have the very last yet.
        case last(of: String)
    }

    /// Gets a message from any replica, which may not have the latest yet.
    /// - Returns: nil if there is none.
    package func message(
        _ choice: Choice, of stream: String, headers: [String]
    ) throws(NATSError) -> NATSMessage? {
        let subject: UnsafeMutablePointer<CChar>?
        var options = jsDirectGetMsgOptions()
        jsDirectGetMsgOptions_Init(&options)
        switch choice {
        case .sequence(let sequence):
            subject = nil
            options.Sequence = sequence
        case .next(let name, let sequence):
            subject = strdup(name)
            options.Sequence = sequence
            options.NextBySubject = UnsafePointer(subject)
        case .last(let name):
            subject = strdup(name)
            options.LastBySubject = UnsafePointer(subject)
        }
        defer { free(subject) }
        var message: OpaquePointer?
        let status = js_DirectGetMsg(&message, jetStream, stream, nil, &options)
        return try taken(message, status, jsErrCode(0), headers, during: "get a message of the stream \(stream)")
    }

    /// The last message of a subject, from the stream's leader, which knows of everything that was acknowledged.
    /// - Returns: nil if there is none.
    package func lastMessage(
        of subject: String, in stream: String, headers: [String]
    ) throws(NATSError) -> NATSMessage? {
        var message: OpaquePointer?
        var number = jsErrCode(0)
        let status = js_GetLastMsg(&message, jetStream, stream, subject, nil, &number)
        return try taken(message, status, number, headers, during: "get the last message of \(subject)")
    }

    private func taken(
        _ message: OpaquePointer?, _ status: natsStatus, _ number: jsErrCode, _ headers: [String],
        during operation: String
    ) throws(NATSError) -> NATSMessage? {
        guard let message, status == NATS_OK else {
            let error = NATSError(status, number, during: operation)
            if error.isNotFound { return nil }
            throw error
        }
        defer { natsMsg_Destroy(message) }
        return NATSMessage(
            message, headers: headers, sequence: natsMsg_GetSequence(message), time: natsMsg_GetTime(message))
    }
}
