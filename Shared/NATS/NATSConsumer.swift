import CNATS

/// Messages of a stream in their order, from where the consumer of this name left off: the servers keep its place.
///
/// It requests messages as JetStream's protocol has it (ADR-37 of nats-architecture-and-design, "JetStream Simplification", pull
/// requests) and reads them from a subscription of its own. Not with `natsSubscription_Fetch`: libnats 3.4.1 writes behind the end of
/// its list if a fetch gets messages that one before it requested, which ran out of time.
///
/// Confined to one thread.
package final class NATSConsumer {
    /// How long messages may be unacknowledged before they come again, in nanoseconds.
    private static let acknowledgementLimit: Int64 = 30_000_000_000
    /// Messages on their way to here that were not acknowledged.
    private static let maximumUnacknowledged: Int64 = 16_384
    /// How much longer than a request lasts its end is waited for, in milliseconds.
    private static let grace: Int64 = 500

    private let connection: NATSConnection
    private let name: String
    private let stream: String
    private let headers: [String]
    /// Where messages come to.
    private let inbox: UnsafeMutablePointer<natsInbox>
    private let subscription: OpaquePointer
    /// How many messages the servers may still send for the last request. There is one at a time: if messages are lost on their way,
    /// none come behind them, and the caller can look for them by their place.
    private var requested = 0
    /// Where the last message is acknowledged that was fetched, and with it those before it.
    private var acknowledgementSubject: String?

    /// Continues the consumer of a name, or makes it: it begins with what is stored from then on.
    /// - Parameters:
    ///   - filter: which subjects it is about, perhaps with wildcards.
    ///   - headers: the headers that are wanted of each message.
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
        // Requests are the bound. What libnats dropped beyond one of its own would be acknowledged with what comes after it.
        try check(natsSubscription_SetPendingLimits(subscription, -1, -1), during: operation)
    }

    deinit {
        natsSubscription_Destroy(subscription)
        natsInbox_Destroy(inbox)
    }

    /// Makes the consumer if there is none of its name.
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

    /// How far a consumer is, whoever consumes as it: numbers in the stream.
    package struct Place: Hashable, Sendable {
        /// When it was made, in nanoseconds since 1970: another time if it was deleted and made anew. Each server says the same.
        package let made: Int64
        /// Up to where all was acknowledged, or was stored before the consumer was made.
        package let acknowledged: UInt64
        /// The last one that was given out; if none was, the last one that was stored before the consumer was made.
        package let given: UInt64
    }

    package func place() throws(NATSError) -> Place {
        try Self.information(name, of: stream, connection) { info in
            let (given, floor) = (info.Delivered.Stream, info.AckFloor)
            // Until something is acknowledged, a cluster says 0 in place of where the consumer began (2.9.10 and 2.15.1).
            let begin = floor.Consumer == 0 ? given - min(given, info.Delivered.Consumer) : 0
            return Place(made: info.Created, acknowledged: max(floor.Stream, begin), given: given)
        }
    }

    // MARK: Messages

    /// Takes the messages that there are, or waits until there is one.
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - wait: milliseconds until it returns without any, or half a second more if no server answers.
    /// - Throws: if there is no connection, or the servers end what was requested. What is missing then has to be looked for.
    package func fetch(_ limit: Int, wait: Int64) throws(NATSError) -> [NATSMessage] {
        let end = nats_Now() + wait
        var messages: [NATSMessage] = []
        while messages.count < limit {
            if requested == 0 {
                // The next one may take longer to come than the caller wants to leave these alone.
                if !messages.isEmpty { break }
                try request(limit, expires: wait)
            }
            do throws(NATSError) {
                let patience = messages.isEmpty ? max(0, end + Self.grace - nats_Now()) : 0
                guard let event = try next(within: patience) else {
                    if messages.isEmpty { requested = 0 }
                    break
                }
                switch event {
                case .message(let message):
                    // What was requested before may still come, after it was waited for in vain.
                    requested = max(0, requested - 1)
                    messages.append(message)
                case .requestOver:
                    requested = 0
                    if messages.isEmpty, nats_Now() >= end { return [] }
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

    /// - Returns: nil if nothing comes in that many milliseconds.
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
            // A sign of life. It does not come unless it is asked for.
            case "100": continue
            // No messages; the request lasted as long as it was to.
            case "404", "408": return .requestOver
            case let code?:
                let reason = NATSMessage.header("Description", of: message) ?? "status \(code)"
                throw NATSError(NATS_ERR, during: operation, reason: reason)
            }
        }
    }

    /// Requests messages.
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - expires: how long it lasts, in milliseconds.
    private func request(_ limit: Int, expires: Int64) throws(NATSError) {
        let operation = "request messages of the stream \(stream)"
        // libnats would keep one request after the other until there is a connection again.
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

    /// Acknowledges everything that was fetched. If that does not arrive, it comes again.
    package func acknowledge() throws(NATSError) {
        guard let subject = acknowledgementSubject else { return }
        acknowledgementSubject = nil
        try check(
            connection.withConnection { natsConnection_PublishString($0, subject, "") },
            during: "acknowledge messages of the stream \(stream)")
    }
}
