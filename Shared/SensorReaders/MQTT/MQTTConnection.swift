import CMosquitto
import Glibc
import ServiceKit
import SystemPackage

package struct MQTTMessage: Sendable {
    package let topic: String
    /// nil if it is too large.
    package let payload: [UInt8]?
    /// Whether the broker sends it again until it is acknowledged.
    package let isKept: Bool
}

/// One connection to a broker, made with libmosquitto. A failed connection is not reused.
///
/// libmosquitto acknowledges a message with a packet that it queues for writing. With `mosquitto_threaded_set`, only `write`
/// sends queued packets, so a late call of `write` acknowledges late.
///
/// `@unchecked Sendable`: one thread at a time uses it. One thread connects; when that has returned, only `MQTTReceiver` uses it.
package final class MQTTConnection: @unchecked Sendable {
    /// Seconds without a packet before the broker is pinged; the broker ends a silent connection after one and a half times that.
    private static let keepAlive: Int32 = 30
    /// The most bytes of a message; the same as for an HTTP body.
    package static let largestMessage = 1 << 20
    /// Initializes the library once.
    private static let library = mosquitto_lib_init()

    private let handle: OpaquePointer
    private let broker: MQTTBroker
    private let topics: [String]
    private var messages: [MQTTMessage] = []
    /// Whether the broker has accepted the subscriptions.
    package private(set) var isSubscribed = false
    /// Why the broker refuses the connection or a subscription.
    private var refusal: String?
    /// libmosquitto's text about its latest problem.
    private var problem: String?

    /// - Throws: `MQTTFailure` for files that cannot be used.
    package init(_ settings: MQTTSettings, to broker: MQTTBroker) throws(MQTTFailure) {
        self.broker = broker
        topics = settings.topics
        _ = Self.library
        let client = settings.clientID.replacing("%h", with: ThisMachine.name)
        // Not a clean session: the broker keeps messages while this program is not connected.
        guard let handle = mosquitto_new(client, false, nil) else {
            throw MQTTFailure("mqtt-client-id: \"\(client)\" can't be used: \(Errno(rawValue: errno))")
        }
        self.handle = handle
        mosquitto_user_data_set(handle, Unmanaged.passUnretained(self).toOpaque())
        mosquitto_threaded_set(handle, true)
        if let user = settings.user { mosquitto_username_pw_set(handle, user, try settings.password()) }
        if broker.isSecure { try secure(settings.authorities) }
        setCallbacks()
    }

    deinit { mosquitto_destroy(handle) }

    private func secure(_ authorities: FilePath?) throws(MQTTFailure) {
        guard let authorities else {
            mosquitto_int_option(handle, MOSQ_OPT_TLS_USE_OS_CERTS, 1)
            return
        }
        let result = mosquitto_tls_set(handle, authorities.string, nil, nil, nil, nil)
        guard result == MOSQ_ERR_SUCCESS.rawValue else {
            throw MQTTFailure("mqtt-ca \(authorities) can't be read: give it a file of certificates in PEM")
        }
    }

    /// Connects, and blocks until the system has succeeded or given up.
    /// - Returns: why that failed; nil if there is a connection, over which nothing has been sent yet.
    package func connect() -> MQTTFailure? {
        let result = mosquitto_connect(handle, broker.host, Int32(broker.port), Self.keepAlive)
        return result == MOSQ_ERR_SUCCESS.rawValue ? nil : failure(result)
    }

    /// Becomes readable when packets arrive; negative without a connection.
    package var descriptor: Int32 { mosquitto_socket(handle) }

    /// Reads arrived packets.
    package func read() throws(MQTTFailure) { try check(mosquitto_loop_read(handle, 1)) }

    /// Writes queued packets, including the acknowledgements of all messages read so far.
    package func write() throws(MQTTFailure) { try check(mosquitto_loop_write(handle, 1)) }

    /// Pings the broker if it is time to.
    package func look() throws(MQTTFailure) { try check(mosquitto_loop_misc(handle)) }

    /// Disconnects, after writing queued packets.
    package func end() {
        mosquitto_disconnect(handle)
        mosquitto_loop_write(handle, 1)
    }

    /// The messages read since the last call.
    package func takeMessages() -> [MQTTMessage] {
        defer { messages = [] }
        return messages
    }

    private func check(_ result: Int32) throws(MQTTFailure) {
        if let refusal { throw MQTTFailure(refusal) }
        if result != MOSQ_ERR_SUCCESS.rawValue { throw failure(result) }
    }

    private func failure(_ result: Int32) -> MQTTFailure {
        if let refusal { return MQTTFailure(refusal) }
        var reason =
            result == MOSQ_ERR_ERRNO.rawValue
            ? "\(Errno(rawValue: errno))" : String(cString: mosquitto_strerror(result))
        if reason.hasSuffix(".") { reason.removeLast() }
        if let problem { reason += ": \(problem)" }
        let advice =
            result == MOSQ_ERR_TLS.rawValue || problem?.contains("certificate") == true
            ? "give --mqtt-ca the authority that certified it, and the host name that is in its certificate"
            : "check whether it runs, and whether the address is right"
        return MQTTFailure("\(broker): \(reason); \(advice)")
    }

    // MARK: Callbacks of libmosquitto

    private static func connection(_ data: UnsafeMutableRawPointer?) -> MQTTConnection? {
        data.map { Unmanaged<MQTTConnection>.fromOpaque($0).takeUnretainedValue() }
    }

    private func setCallbacks() {
        mosquitto_connect_callback_set(handle) { _, data, result in
            MQTTConnection.connection(data)?.noteConnected(result)
        }
        mosquitto_subscribe_callback_set(handle) { _, data, _, count, granted in
            MQTTConnection.connection(data)?.noteSubscribed(
                Array(UnsafeBufferPointer(start: granted, count: Int(count))))
        }
        mosquitto_message_callback_set(handle) { _, data, message in
            if let message { MQTTConnection.connection(data)?.note(message.pointee) }
        }
        mosquitto_log_callback_set(handle) { _, data, level, text in
            guard level == MOSQ_LOG_ERR, let text else { return }
            MQTTConnection.connection(data)?.problem = String(cString: text)
        }
    }

    private func noteConnected(_ result: Int32) {
        guard result == 0 else {
            var reason = String(cString: mosquitto_connack_string(result))
            if reason.hasSuffix(".") { reason.removeLast() }
            refusal =
                "\(broker): \(reason): check mqtt-user and mqtt-password-file, and what the broker lets this user do"
            return
        }
        for topic in topics where refusal == nil {
            let result = mosquitto_subscribe(handle, nil, topic, 1)
            if result != MOSQ_ERR_SUCCESS.rawValue {
                refusal = "topic \(topic): \(String(cString: mosquitto_strerror(result)))"
            }
        }
    }

    /// - Parameter granted: for each topic the quality of service, or 128 for a refusal.
    private func noteSubscribed(_ granted: [Int32]) {
        if granted.contains(where: { $0 > 2 }) {
            refusal =
                "\(broker) does not let this program subscribe to \(topics.joined(separator: ", ")): check what it lets this user do"
        } else {
            isSubscribed = true
        }
    }

    private func note(_ message: mosquitto_message) {
        let count = Int(message.payloadlen)
        messages.append(
            MQTTMessage(
                topic: message.topic.map { String(cString: $0) } ?? "",
                payload: count > Self.largestMessage
                    ? nil : Array(UnsafeRawBufferPointer(start: message.payload, count: count)),
                isKept: message.qos > 0))
    }
}
