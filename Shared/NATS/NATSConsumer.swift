import CNATS

/// Messages of a stream in their order, from where the consumer of this name left off: the servers keep its place.
///
/// Confined to one thread, except for `close`.
package final class NATSConsumer {
    /// How long messages may be unacknowledged before they come again, in nanoseconds.
    private static let acknowledgementLimit: Int64 = 30_000_000_000
    /// How long is waited for more messages where one was, in milliseconds. Not shorter: if a request ends while its messages are on
    /// their way, they come to the next one, and libnats 3.4.1 writes more of them than that asked for behind the end of its list.
    private static let shortWait: Int64 = 200
    /// Messages on their way to here that were not acknowledged.
    private static let maximumUnacknowledged: Int64 = 16_384

    private let connection: NATSConnection
    private let name: String
    private let subscription: OpaquePointer
    private let stream: String
    private let headers: [String]
    /// The last message that was fetched: acknowledging it acknowledges those before it.
    private var last: OpaquePointer?

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
        var made: OpaquePointer?
        var number = jsErrCode(0)
        let status = stream.withCString { stream in
            var options = jsSubOptions()
            jsSubOptions_Init(&options)
            options.Stream = stream
            options.Config.DeliverPolicy = js_DeliverNew
            options.Config.AckPolicy = js_AckAll
            options.Config.AckWait = Self.acknowledgementLimit
            options.Config.MaxAckPending = Self.maximumUnacknowledged
            return js_PullSubscribe(&made, connection.jetStream, filter, name, nil, &options, &number)
        }
        try check(status, number, during: "consume \(filter) as \(name)")
        guard let made else { throw NATSError(NATS_NO_MEMORY, during: "consume \(filter)") }
        subscription = made
    }

    deinit {
        natsMsg_Destroy(last)
        natsSubscription_Destroy(subscription)
    }

    /// Takes the messages that there are, or waits until there is one.
    /// - Parameters:
    ///   - limit: how many at most.
    ///   - wait: milliseconds until it returns without any.
    package func fetch(_ limit: Int, wait: Int64) throws(NATSError) -> [NATSMessage] {
        // For more than one it would wait until all have come.
        let first = try fetchAll(1, wait: wait)
        return first.isEmpty || limit == 1 ? first : first + (try fetchAll(limit - 1, wait: Self.shortWait))
    }

    private func fetchAll(_ limit: Int, wait: Int64) throws(NATSError) -> [NATSMessage] {
        var list = natsMsgList()
        var number = jsErrCode(0)
        let status = natsSubscription_Fetch(&list, subscription, Int32(limit), wait, &number)
        if status == NATS_TIMEOUT || status == NATS_NOT_FOUND { return [] }
        try check(status, number, during: "fetch from the stream \(stream)")
        defer { natsMsgList_Destroy(&list) }
        var messages: [NATSMessage] = []
        messages.reserveCapacity(Int(list.Count))
        for index in 0..<Int(list.Count) {
            guard let message = list.Msgs[index] else { continue }
            if let taken = taken(message) { messages.append(taken) }
            if index == Int(list.Count) - 1 {
                natsMsg_Destroy(last)
                last = message
                list.Msgs[index] = nil
            }
        }
        return messages
    }

    /// How far messages were given out, to whoever consumes as this consumer, and up to where all of them were acknowledged: numbers in
    /// the stream.
    package func place() throws(NATSError) -> (acknowledged: UInt64, given: UInt64) {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = NATSConnection.requestLimit
        var info: UnsafeMutablePointer<jsConsumerInfo>?
        var number = jsErrCode(0)
        try check(
            js_GetConsumerInfo(&info, connection.jetStream, stream, name, &options, &number), number,
            during: "inspect the consumer of the stream \(stream)")
        guard let info else { throw NATSError(NATS_NOT_FOUND, during: "inspect the consumer of \(stream)") }
        defer { jsConsumerInfo_Destroy(info) }
        return (info.pointee.AckFloor.Stream, info.pointee.Delivered.Stream)
    }

    private func taken(_ message: OpaquePointer) -> NATSMessage? {
        var place: UnsafeMutablePointer<jsMsgMetaData>?
        guard natsMsg_GetMetaData(&place, message) == NATS_OK, let place else { return nil }
        defer { jsMsgMetaData_Destroy(place) }
        return NATSMessage(
            message, headers: headers, sequence: place.pointee.Sequence.Stream, time: place.pointee.Timestamp)
    }

    /// Acknowledges everything that was fetched. If that does not arrive, it comes again.
    package func acknowledge() throws(NATSError) {
        guard let last else { return }
        defer {
            natsMsg_Destroy(last)
            self.last = nil
        }
        try check(natsMsg_Ack(last, nil), during: "acknowledge messages of the stream \(stream)")
    }
}
