import CNATS
import Glibc
import Synchronization

/// A connection to a cluster of NATS servers and its JetStream.
///
/// Connecting begins at creation and is repeated whenever the connection is lost. Calls block until a server replies: make them
/// on a thread that may block.
///
/// libnats gives up some connections for good: if a server refuses it twice for the same reason, or if the first attempt fails
/// after a server accepted it. A bug in libnats can cause the latter (3.4.1 does not send a signature that begins with a zero
/// byte, one of 256). Call `connectAgain` then.
package final class NATSConnection: Sendable {
    /// The interval between pings, in milliseconds. Two pings without a reply end the connection.
    private static let pingInterval: Int64 = 1_000
    /// The pause between attempts to connect, in milliseconds, and the maximum random addition to it.
    private static let reconnectWait: Int64 = 250
    /// The timeout for an attempt to connect, in milliseconds.
    private static let connectLimit: Int64 = 2_000
    /// The timeout for a request to JetStream, in milliseconds.
    package static let requestLimit: Int64 = 5_000
    /// The maximum number of unacknowledged messages. Publishers have their own lower limit.
    package static let maximumUnacknowledged: Int64 = 65_536

    /// The callbacks for libnats. They outlive the connection.
    private final class Handlers: Sendable {
        /// Whether a connection was ever established.
        let wasConnected = Atomic(false)
        let connected: @Sendable (Bool) -> Void
        let gaveUp: @Sendable () -> Void
        let acknowledged: @Sendable (PublishResult) -> Void

        init(
            _ connected: @escaping @Sendable (Bool) -> Void, _ gaveUp: @escaping @Sendable () -> Void,
            _ acknowledged: @escaping @Sendable (PublishResult) -> Void
        ) {
            self.connected = connected
            self.gaveUp = gaveUp
            self.acknowledged = acknowledged
        }

        func noteConnected() {
            wasConnected.store(true, ordering: .relaxed)
            connected(true)
        }
    }

    /// The pointers to a connection in libnats.
    ///
    /// `@unchecked Sendable`: the pointers never change, and any number of threads may use libnats' connections, contexts and
    /// subscriptions (nats.h, "Thread safety" of the library's README).
    private final class Native: @unchecked Sendable {
        let connection: OpaquePointer
        let jetStream: OpaquePointer
        /// Whether the first attempt succeeded: libnats reports only later connections.
        let wasConnectedAtOnce: Bool

        init(_ settings: NATSSettings, _ handlers: Unmanaged<Handlers>) throws(NATSError) {
            let options = try NATSConnection.options(settings)
            defer { natsOptions_Destroy(options) }
            try NATSConnection.makeLasting(options, handlers.toOpaque())
            var connection: OpaquePointer?
            let status = natsConnection_Connect(&connection, options)
            guard let connection, status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
                throw NATSError(status, during: "connect to \(settings.servers.joined(separator: ", "))")
            }
            do throws(NATSError) {
                jetStream = try NATSConnection.jetStream(of: connection, handlers.toOpaque())
            } catch {
                natsConnection_Destroy(connection)
                throw error
            }
            self.connection = connection
            wasConnectedAtOnce = status == NATS_OK
        }

        deinit {
            natsConnection_Close(connection)
            jsCtx_Destroy(jetStream)
            natsConnection_Destroy(connection)
        }
    }

    /// The result of a message passed to `publish`.
    package struct PublishResult: Sendable {
        package enum Outcome: Hashable, Sendable {
            /// The message is stored at this number of the stream, now or by an earlier publication.
            case stored(sequence: UInt64, isRepeat: Bool)
            /// The message may be stored: publish it again with the same identifier.
            case unknown(String)
            /// The message is not stored: publish it again.
            case notStored(String)
            /// The stream is full and does not drop old messages.
            case full(String)
            /// The message exceeds the stream's size limit and is not stored. If it exceeds the server's limit, `publish` throws.
            case tooLarge(String)
        }

        package let identifier: String
        package let outcome: Outcome
    }

    /// Never released: a thread of libnats may still be in one of its closures. A program has only one connection.
    private let handlers: Unmanaged<Handlers>
    private let native: Mutex<Native>
    private let settings: NATSSettings

    /// - Parameters:
    ///   - connected: called when a connection is established (true) or lost (false), on a thread of libnats or by this
    ///     initializer and `connectAgain`.
    ///   - gaveUp: called when libnats stops reconnecting, on a thread of libnats or by `connectAgain`.
    ///   - acknowledged: called on a thread of libnats for each message passed to `publish`, unless `publish` threw or libnats
    ///     gave up.
    /// - Throws: if libnats cannot use the settings. Unavailable servers are not an error.
    package init(
        _ settings: NATSSettings, connected: @escaping @Sendable (Bool) -> Void = { _ in },
        gaveUp: @escaping @Sendable () -> Void = {},
        acknowledged: @escaping @Sendable (PublishResult) -> Void = { _ in }
    ) throws(NATSError) {
        self.settings = settings
        let handlers = Unmanaged.passRetained(Handlers(connected, gaveUp, acknowledged))
        self.handlers = handlers
        do throws(NATSError) {
            let native = try Native(settings, handlers)
            self.native = Mutex(native)
            if native.wasConnectedAtOnce { handlers.takeUnretainedValue().noteConnected() }
        } catch {
            handlers.release()
            throw error
        }
    }

    /// Reconnects if libnats gave up; does nothing otherwise. Unacknowledged messages are lost: publish them again.
    package func connectAgain() {
        guard isGivenUp else { return }
        do throws(NATSError) {
            let native = try Native(settings, handlers)
            // Releases the old connection outside of the lock.
            let old = self.native.withLock { current in
                defer { current = native }
                return current
            }
            withExtendedLifetime(old) {}
            if native.wasConnectedAtOnce { handlers.takeUnretainedValue().noteConnected() }
        } catch {
            // A file named in the settings may be missing at the moment.
            handlers.takeUnretainedValue().gaveUp()
        }
    }

    private var isGivenUp: Bool { withConnection { natsConnection_IsClosed($0) } }

    /// Calls libnats with the connection.
    func withConnection<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        let native = native.withLock { $0 }
        return withExtendedLifetime(native) { body(native.connection) }
    }

    /// Calls libnats with the JetStream context.
    func withJetStream<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        let native = native.withLock { $0 }
        return withExtendedLifetime(native) { body(native.jetStream) }
    }

    /// Whether there is a connection. Like `problem`, blocks while the library tries to connect.
    package var isConnected: Bool { withConnection { natsConnection_Status($0) } == NATS_CONN_STATUS_CONNECTED }

    /// Why there is no connection; nil if the library gives no reason.
    ///
    /// Before the first connection, and after libnats gave up, this makes a separate attempt: libnats gives the reason of a first
    /// attempt, such as a wrong password, but not of repeated ones.
    package var problem: String? {
        let wasConnected = handlers.takeUnretainedValue().wasConnected.load(ordering: .relaxed)
        if !wasConnected || isGivenUp, let problem = attempt() { return problem }
        return withConnection { connection in
            var text: UnsafePointer<CChar>?
            let status = natsConnection_GetLastError(connection, &text)
            guard status != NATS_OK else { return nil }
            let detail = text.map { String(cString: $0) } ?? ""
            return detail.isEmpty ? String(cString: natsStatus_GetText(status)) : detail
        }
    }

    /// Connects briefly.
    /// - Returns: why connecting failed; nil if it succeeded.
    private func attempt() -> String? {
        guard let options = try? Self.options(settings) else { return nil }
        defer { natsOptions_Destroy(options) }
        var connection: OpaquePointer?
        let status = natsConnection_Connect(&connection, options)
        defer { natsConnection_Destroy(connection) }
        guard status != NATS_OK else { return nil }
        let text = nats_GetLastError(nil).map { String(cString: $0) } ?? ""
        return text.isEmpty ? String(cString: natsStatus_GetText(status)) : text
    }

    // MARK: Making it

    /// Sets the options so that libnats reconnects whenever the connection is lost or no server accepts it.
    private static func makeLasting(
        _ options: OpaquePointer, _ handlers: UnsafeMutableRawPointer
    ) throws(NATSError) {
        for status in [
            natsOptions_SetMaxReconnect(options, -1), natsOptions_SetReconnectWait(options, reconnectWait),
            natsOptions_SetReconnectJitter(options, reconnectWait, reconnectWait),
            natsOptions_SetRetryOnFailedConnect(options, true, noteConnected, handlers),
            natsOptions_SetReconnectedCB(options, noteConnected, handlers),
            natsOptions_SetDisconnectedCB(options, noteDisconnected, handlers),
            natsOptions_SetClosedCB(options, noteClosed, handlers),
        ] {
            try check(status, during: "connect")
        }
    }

    private static func options(_ settings: NATSSettings) throws(NATSError) -> OpaquePointer {
        var made: OpaquePointer?
        try check(natsOptions_Create(&made), during: "connect")
        guard let options = made else { throw NATSError(NATS_NO_MEMORY, during: "connect") }
        do throws(NATSError) {
            try setServers(settings, options)
            try setUser(settings, options)
            try setSecurity(settings, options)
            for status in [
                natsOptions_SetName(options, settings.name), natsOptions_SetPingInterval(options, pingInterval),
                natsOptions_SetTimeout(options, connectLimit),
                natsOptions_SetFailRequestsOnDisconnect(options, true),
                // Without a handler, libnats writes errors to standard error.
                natsOptions_SetErrorHandler(options, { _, _, _, _ in }, nil),
            ] {
                try check(status, during: "connect")
            }
            return options
        } catch {
            natsOptions_Destroy(options)
            throw error
        }
    }

    private static let noteConnected: natsConnectionHandler = { _, handlers in
        handlers.map { Unmanaged<Handlers>.fromOpaque($0).takeUnretainedValue().noteConnected() }
    }

    private static let noteDisconnected: natsConnectionHandler = { _, handlers in
        handlers.map { Unmanaged<Handlers>.fromOpaque($0).takeUnretainedValue().connected(false) }
    }

    private static let noteClosed: natsConnectionHandler = { _, handlers in
        handlers.map { Unmanaged<Handlers>.fromOpaque($0).takeUnretainedValue().gaveUp() }
    }

    private static func setServers(_ settings: NATSSettings, _ options: OpaquePointer) throws(NATSError) {
        let copies = settings.servers.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        var pointers = copies.map { UnsafePointer($0) }
        try check(
            natsOptions_SetServers(options, &pointers, Int32(pointers.count)),
            during: "use the servers \(settings.servers.joined(separator: ", "))")
        try check(
            natsOptions_SetIgnoreDiscoveredServers(options, !settings.usesListedServers),
            during: "use only the servers that are given")
    }

    private static func setUser(_ settings: NATSSettings, _ options: OpaquePointer) throws(NATSError) {
        if let user = settings.user {
            try check(
                natsOptions_SetUserInfo(options, user, settings.password ?? ""), during: "use the user \(user)")
        }
        if let file = settings.credentials {
            try check(
                natsOptions_SetUserCredentialsFromFiles(options, file, nil), during: "use the credentials \(file)")
        }
        if let (key, file) = settings.nkey {
            try check(natsOptions_SetNKeyFromSeed(options, key, file), during: "use the seed in \(file)")
        }
    }

    private static func setSecurity(_ settings: NATSSettings, _ options: OpaquePointer) throws(NATSError) {
        guard settings.isEncrypted else { return }
        try check(natsOptions_SetSecure(options, true), during: "use TLS")
        if let file = settings.authorities {
            try check(
                natsOptions_LoadCATrustedCertificates(options, file), during: "read the certificates in \(file)")
        }
        if let certificate = settings.certificate, let key = settings.key {
            try check(
                natsOptions_LoadCertificatesChain(options, certificate, key),
                during: "read the certificate \(certificate) and its key \(key)")
        }
    }

    private static func jetStream(
        of connection: OpaquePointer, _ handlers: UnsafeMutableRawPointer
    ) throws(NATSError) -> OpaquePointer {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = requestLimit
        options.PublishAsync.MaxPending = maximumUnacknowledged
        options.PublishAsync.AckHandler = { _, message, acknowledgement, failure, handlers in
            guard let message, let handlers else { return }
            defer { natsMsg_Destroy(message) }
            Unmanaged<Handlers>.fromOpaque(handlers).takeUnretainedValue().acknowledged(
                NATSConnection.result(of: message, acknowledgement, failure))
        }
        options.PublishAsync.AckHandlerClosure = handlers
        var context: OpaquePointer?
        try check(natsConnection_JetStream(&context, connection, &options), during: "use JetStream")
        guard let context else { throw NATSError(NATS_NO_MEMORY, during: "use JetStream") }
        return context
    }
}
