import CNATS
import FoundationEssentials
import Glibc

/// A message of a stream.
package struct NATSMessage: Hashable, Sendable {
    package let subject: String
    package let data: [UInt8]
    /// The requested headers that the message has.
    package let headers: [String: String]
    /// The message's number in the stream, starting at 1.
    package let sequence: UInt64
    /// When the server stored it, in nanoseconds since 1970.
    package let time: Int64

    init(_ message: OpaquePointer, headers names: [String], sequence: UInt64, time: Int64, subject known: String? = nil)
    {
        subject = known ?? natsMsg_GetSubject(message).map { String(cString: $0) } ?? ""
        data = Self.data(of: message)
        var headers: [String: String] = [:]
        for name in names { headers[name] = Self.header(name, of: message) }
        self.headers = headers
        self.sequence = sequence
        self.time = time
    }

    /// A message from a batch reply: its subject is in a header.
    init(_ message: OpaquePointer, subject: String?, headers names: [String], sequence: UInt64) {
        self.init(message, headers: names, sequence: sequence, time: 0, subject: subject)
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
    /// The first message of a subject from a number on, from any replica, which may lack the latest messages.
    /// - Parameter limit: the timeout in milliseconds.
    /// - Returns: nil if there is none.
    /// - Throws: an error with `isUnavailable` if no replica replies, also if the stream does not permit it (`allow_direct`).
    package func message(
        of subject: String, in stream: String, from sequence: UInt64, headers: [String], limit: Int64 = requestLimit
    ) throws(NATSError) -> NATSMessage? {
        var request = jsOptions()
        jsOptions_Init(&request)
        request.Wait = limit
        var message: OpaquePointer?
        let status = subject.withCString { subject in
            var options = jsDirectGetMsgOptions()
            jsDirectGetMsgOptions_Init(&options)
            options.Sequence = sequence
            options.NextBySubject = subject
            return withJetStream { js_DirectGetMsg(&message, $0, stream, &request, &options) }
        }
        return try taken(message, status, jsErrCode(0), headers, during: "get a message of the stream \(stream)")
    }

    /// The message with a number, from the stream's leader.
    /// - Parameter limit: the timeout in milliseconds.
    /// - Returns: nil if there is none.
    package func message(
        at sequence: UInt64, in stream: String, headers: [String], limit: Int64 = requestLimit
    ) throws(NATSError) -> NATSMessage? {
        try fromLeader(headers, limit, during: "get message \(sequence) of the stream \(stream)") {
            js_GetMsg(&$1, $0, stream, sequence, &$2, &$3)
        }
    }

    /// Gets a message from a stream's leader through libnats.
    private func fromLeader(
        _ headers: [String], _ limit: Int64, during operation: String,
        _ get: (_ jetStream: OpaquePointer, inout OpaquePointer?, inout jsOptions, inout jsErrCode) -> natsStatus
    ) throws(NATSError) -> NATSMessage? {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = limit
        var message: OpaquePointer?
        var number = jsErrCode(0)
        let status = withJetStream { get($0, &message, &options, &number) }
        return try taken(message, status, number, headers, during: operation)
    }

    private struct Found: Decodable {
        struct Message: Decodable {
            var seq: UInt64
        }
        struct Failure: Decodable {
            var err_code: UInt32
            var description: String?
        }
        var message: Message?
        var error: Failure?
    }

    /// The number of the first message of a subject from a number on, from the stream's leader, which has everything
    /// acknowledged. libnats has no call for this request.
    /// - Parameter limit: the timeout in milliseconds.
    /// - Returns: nil if there is none.
    package func sequenceAtLeader(
        of subject: String, in stream: String, from sequence: UInt64, limit: Int64 = requestLimit
    ) throws(NATSError) -> UInt64? {
        let data = try request(
            "$JS.API.STREAM.MSG.GET.\(stream)", #"{"seq":\#(sequence),"next_by_subj":"\#(Self.quoted(subject))"}"#,
            limit: limit)
        guard let answer = try? JSONDecoder().decode(Found.self, from: Data(data)) else {
            throw NATSError(NATS_ERR, during: "read what the leader of \(stream) has")
        }
        guard let failure = answer.error else { return answer.message?.seq }
        let error = NATSError(
            NATS_ERR, jsErrCode(failure.err_code), during: "get a message of \(subject)", reason: failure.description)
        if error.isMessageNotFound { return nil }
        throw error
    }

    /// The last message of a subject, from the stream's leader, which has everything acknowledged.
    /// - Parameter limit: the timeout in milliseconds.
    /// - Returns: nil if there is none.
    package func lastMessage(
        of subject: String, in stream: String, headers: [String], limit: Int64 = requestLimit
    ) throws(NATSError) -> NATSMessage? {
        try fromLeader(headers, limit, during: "get the last message of \(subject)") {
            js_GetLastMsg(&$1, $0, stream, subject, &$2, &$3)
        }
    }

    /// Gets the messages of a subject from a number on in one request, from any replica. Requires servers since 2.11.
    /// - Parameters:
    ///   - count: the maximum number of messages.
    ///   - maximumBytes: the server sends no further message after this many bytes.
    ///   - limit: the timeout for all messages, in milliseconds.
    /// - Throws: an error with `isUnavailable` if no replica replies, also if the stream does not permit it (`allow_direct`).
    package func messages(
        of subject: String, in stream: String, from sequence: UInt64, count: Int, maximumBytes: Int, headers: [String],
        limit: Int64 = requestLimit
    ) throws(NATSError) -> [NATSMessage] {
        let operation = "get messages of \(subject)"
        var inbox: UnsafeMutablePointer<natsInbox>?
        try check(natsInbox_Create(&inbox), during: operation)
        defer { natsInbox_Destroy(inbox) }
        guard let inbox else { return [] }
        let name = UnsafePointer<CChar>(inbox)
        var subscription: OpaquePointer?
        try check(withConnection { natsConnection_SubscribeSync(&subscription, $0, name) }, during: operation)
        defer { natsSubscription_Destroy(subscription) }
        let request = """
            {"seq":\(sequence),"batch":\(count),"max_bytes":\(maximumBytes),"next_by_subj":"\(Self.quoted(subject))"}
            """
        try check(
            withConnection { natsConnection_PublishRequestString($0, "$JS.API.DIRECT.GET.\(stream)", name, request) },
            during: operation)
        let time = TimeLimit(limit)
        var messages: [NATSMessage] = []
        while true {
            var message: OpaquePointer?
            try check(natsSubscription_NextMsg(&message, subscription, max(1, time.left)), during: operation)
            guard let message else { return messages }
            defer { natsMsg_Destroy(message) }
            guard NATSMessage.header("Status", of: message) == nil,
                let sequence = NATSMessage.header("Nats-Sequence", of: message).flatMap({ UInt64($0) })
            else { return messages }
            messages.append(
                NATSMessage(
                    message, subject: NATSMessage.header("Nats-Subject", of: message), headers: headers,
                    sequence: sequence))
        }
    }

    private static func quoted(_ text: String) -> String {
        text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")
    }

    private func taken(
        _ message: OpaquePointer?, _ status: natsStatus, _ number: jsErrCode, _ headers: [String],
        during operation: String
    ) throws(NATSError) -> NATSMessage? {
        guard let message, status == NATS_OK else {
            let error = NATSError(status, number, during: operation)
            if error.isMessageNotFound { return nil }
            throw error
        }
        defer { natsMsg_Destroy(message) }
        return NATSMessage(
            message, headers: headers, sequence: natsMsg_GetSequence(message), time: natsMsg_GetTime(message))
    }
}
