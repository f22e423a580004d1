import CNATS

/// The messages of a stream in order, from where the consumer of this name last stopped: the servers keep its place.
///
/// Requests messages by JetStream's protocol (ADR-37 of nats-architecture-and-design, "JetStream Simplification", pull requests)
/// and reads them from its own subscription. Does not use `natsSubscription_Fetch`: libnats 3.4.1 writes past the end of its list
/// if a fetch gets messages of an earlier request that timed out.
///
/// Confined to one thread.
package final class NATSConsumer {
    /// How long messages may remain unacknowledged before they are redelivered, in nanoseconds.
    private static let acknowledgementLimit: Int64 = 30_000_000_000
    /// The maximum number of delivered, unacknowledged messages.
    private static let maximumUnacknowledged: Int64 = 16_384
    /// How long to wait for the end of a request after it expires, in milliseconds.
    private static let grace: Int64 = 500

    private let connection: NATSConnection
    private let name: String
    private let stream: String
    private let headers: [String]
    /// The subject that receives the messages.
    private let inbox: UnsafeMutablePointer<natsInbox>
    private let subscription: OpaquePointer
    /// The number of messages still expected for the last request. Only one request is pending: if messages are lost, no later
    /// ones follow them, and the caller can fetch the lost ones by number.
    private var requested = 0
    /// The reply subject of the last fetched message. Acknowledging it includes all earlier messages.
    private var acknowledgementSubject: String?

    /// Opens the consumer of this name, or creates one that begins with messages stored from then on.
    /// - Parameters:
    ///   - filter: the subjects to deliver, which may contain wildcards.
    ///   - headers: the headers to read from each message.
    package init(
        _ name: String, of stream: String, filter: String, headers: [String], _ connection: NATSConnection
    ) throws(NATSError) {
        self.connection = connection
        self.name = name
        self.stream = stream
        self.headers = headers
        let operation = "consume \(filter) as \(name)"
        try Self.make(name, of: stream, filter: filter, connection, during: operation)
        var inbox: UnsafeMutablePointer<natsInbox>?
        try check(natsInbox_Create(&inbox), during: operation)
        guard let inbox else { throw NATSError(NATS_NO_MEMORY, during: operation) }
        var subscription: OpaquePointer?
        let status = connection.withConnection {
            natsConnection_SubscribeSync(&subscription, $0, UnsafePointer(inbox))
        }
        guard let subscription, status == NATS_OK else {
            natsInbox_Destroy(inbox)
            throw NATSError(status, during: operation)
        }
        self.inbox = inbox
        self.subscription = subscription
        // Requests already limit the messages. If libnats dropped some at a limit of its own, a later acknowledgement would
        // include them.
        try check(natsSubscription_SetPendingLimits(subscription, -1, -1), during: operation)
    }

    deinit {
        natsSubscription_Destroy(subscription)
        natsInbox_Destroy(inbox)
    }

    /// Creates the consumer if none has its name.
    private static func make(
        _ name: String, of stream: String, filter: String, _ connection: NATSConnection, during operation: String
    ) throws(NATSError) {
        do throws(NATSError) {
            let known = try information(name, of: stream, connection) { info in
                info.Config?.pointee.FilterSubject.map { String(cString: $0) } ?? ""
            }
            guard known == filter else {
                throw NATSError(
                    NATS_ERR, during: operation, reason: "the servers have it for \(known): choose another name")
            }
            return
        } catch {
            guard error.isNotFound else { throw error }
        }
        var number = jsErrCode(0)
        let status = name.withCString { name in
            filter.withCString { filter in
                var configuration = jsConsumerConfig()
                jsConsumerConfig_Init(&configuration)
                configuration.Durable = name
                configuration.FilterSubject = filter
                configuration.DeliverPolicy = js_DeliverNew
                configuration.AckPolicy = js_AckAll
                configuration.AckWait = acknowledgementLimit
                configuration.MaxAckPending = maximumUnacknowledged
                return connection.withJetStream { js_AddConsumer(nil, $0, stream, &configuration, nil, &number) }
            }
        }
        try check(status, number, during: operation)
    }

    private static func information<Result>(
        _ name: String, of stream: String, _ connection: NATSConnection, _ body: (jsConsumerInfo) -> Result
    ) throws(NATSError) -> Result {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = NATSConnection.requestLimit
        var info: UnsafeMutablePointer<jsConsumerInfo>?
        var number = jsErrCode(0)
        let operation = "inspect the consumer \(name) of the stream \(stream)"
        let status = connection.withJetStream { js_GetConsumerInfo(&info, $0, stream, name, &options, &number) }
        try check(status, number, during: operation)
        guard let info else { throw NATSError(NATS_NOT_FOUND, during: operation) }
        defer { jsConsumerInfo_Destroy(info) }
        return body(info.pointee)
    }

    /// The progress of a consumer, shared by all programs that use it: numbers in the stream.
    package struct Place: Hashable, Sendable {
        /// When the consumer was created, in nanoseconds since 1970. A recreated consumer has a different time. All servers
        /// report the same.
        package let made: Int64
        /// Everything up to this number was acknowledged, or was stored before the consumer was created.
        package let acknowledged: UInt64
        /// The last delivered number; before the first delivery, the last number stored before the consumer was created.
        package let given: UInt64
    }

    package func place() throws(NATSError) -> Place {
        try Self.information(name, of: stream, connection) { info in
            let (given, floor) = (info.Delivered.Stream, info.AckFloor)
            // Before the first acknowledgement, a cluster reports 0 instead of the consumer's start (2.9.10 and 2.15.1).
            let begin = floor.Consumer == 0 ? given - min(given, info.Delivered.Consumer) : 0
            return Place(made: info.Created, acknowledged: max(floor.Stream, begin), given: given)
        }
    }

    // MARK: Messages

    /// Takes the available messages, or waits until there is one.
    /// - Parameters:
    ///   - limit: the maximum number of messages.
    ///   - wait: milliseconds until it returns without messages, or half a second more if no server replies.
    /// - Throws: if there is no connection, or if the servers end the request. The caller must then fetch missing messages by
    ///   number.
    package func fetch(_ limit: Int, wait: Int64) throws(NATSError) -> [NATSMessage] {
        let (time, patience) = (TimeLimit(wait), TimeLimit(wait + Self.grace))
        var messages: [NATSMessage] = []
        while messages.count < limit {
            if requested == 0 {
                // Another request could delay the messages fetched so far.
                if !messages.isEmpty { break }
                try request(limit, expires: wait)
            }
            do throws(NATSError) {
                guard let event = try next(within: messages.isEmpty ? patience.left : 0) else {
                    if messages.isEmpty { requested = 0 }
                    break
                }
                switch event {
                case .message(let message):
                    // Messages of an earlier request may still arrive after its timeout.
                    requested = max(0, requested - 1)
                    messages.append(message)
                case .requestOver:
                    requested = 0
                    if messages.isEmpty, time.left == 0 { return [] }
                }
            } catch {
                requested = 0
                if messages.isEmpty { throw error }
                break
            }
        }
        return messages
    }

    private enum Event {
        case message(NATSMessage)
        /// The servers send nothing more for the last request.
        case requestOver
    }

    /// - Parameter limit: the timeout in milliseconds.
    /// - Returns: nil after the timeout.
    private func next(within limit: Int64) throws(NATSError) -> Event? {
        let operation = "fetch from the stream \(stream)"
        while true {
            var message: OpaquePointer?
            let status = natsSubscription_NextMsg(&message, subscription, limit)
            if status == NATS_TIMEOUT { return nil }
            try check(status, during: operation)
            guard let message else { return nil }
            defer { natsMsg_Destroy(message) }
            switch NATSMessage.header("Status", of: message) {
            case nil: if let taken = taken(message) { return .message(taken) }
            // A heartbeat. Servers send none unless requested.
            case "100": continue
            // There are no messages, or the request expired normally.
            case "404", "408": return .requestOver
            case let code?:
                let reason = NATSMessage.header("Description", of: message) ?? "status \(code)"
                throw NATSError(NATS_ERR, during: operation, reason: reason)
            }
        }
    }

    /// - Parameters:
    ///   - limit: the maximum number of messages.
    ///   - expires: how long the request lasts, in milliseconds.
    private func request(_ limit: Int, expires: Int64) throws(NATSError) {
        let operation = "request messages of the stream \(stream)"
        // Without a connection, libnats would queue request after request.
        guard connection.isConnected else { throw NATSError(NATS_CONNECTION_DISCONNECTED, during: operation) }
        let status = connection.withConnection {
            natsConnection_PublishRequestString(
                $0, "$JS.API.CONSUMER.MSG.NEXT.\(stream).\(name)", UnsafePointer(inbox),
                #"{"batch":\#(limit),"expires":\#(expires * 1_000_000)}"#)
        }
        try check(status, during: operation)
        requested = limit
    }

    private func taken(_ message: OpaquePointer) -> NATSMessage? {
        var place: UnsafeMutablePointer<jsMsgMetaData>?
        guard natsMsg_GetMetaData(&place, message) == NATS_OK, let place else { return nil }
        defer { jsMsgMetaData_Destroy(place) }
        acknowledgementSubject = natsMsg_GetReply(message).map { String(cString: $0) }
        return NATSMessage(
            message, headers: headers, sequence: place.pointee.Sequence.Stream, time: place.pointee.Timestamp)
    }

    /// Acknowledges all fetched messages. If the acknowledgement is lost, the messages are redelivered.
    package func acknowledge() throws(NATSError) {
        guard let subject = acknowledgementSubject else { return }
        acknowledgementSubject = nil
        try check(
            connection.withConnection { natsConnection_PublishString($0, subject, "") },
            during: "acknowledge messages of the stream \(stream)")
    }
}
