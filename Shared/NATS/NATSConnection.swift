import CNATS
import Glibc
import Synchronization

/// A connection to a cluster of NATS servers, and its JetStream.
///
/// It begins to connect when it is made, and connects again whenever it is lost. Calls wait for a server's answer: make them on a thread
/// that may be blocked.
///
/// libnats gives some connections up for good: if a server refuses it twice for the same reason, or if the first attempt fails after
/// a server took it, which its own mistake may cause too (3.4.1 sends no signature that begins with a zero byte: one of 256). Call
/// `connectAgain` then.
package final class NATSConnection: Sendable {
    /// How often a server is asked whether it is still there, in milliseconds: two requests without an answer end the connection.
    private static let pingInterval: Int64 = 1_000
    /// The pause between attempts to connect, in milliseconds, and what is added to it at random.
    private static let reconnectWait: Int64 = 250
    /// How long an attempt to connect may take, in milliseconds.
    private static let connectLimit: Int64 = 2_000
    /// How long a request to JetStream may take, in milliseconds.
    package static let requestLimit: Int64 = 5_000
    /// Messages without an acknowledgement: what publishes has a bound of its own, below it.
    package static let maximumUnacknowledged: Int64 = 65_536

    /// What libnats calls. It outlives the connection.
    private final class Handlers: Sendable {
        /// Whether there was ever a connection.
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

    /// What libnats has for a connection.
    ///
    /// `@unchecked Sendable`: the pointers never change, and libnats' connections, contexts and subscriptions may be used by any number
    /// of threads (nats.h, "Thread safety" of the library's README).
    private final class Native: @unchecked Sendable {
        let connection: OpaquePointer
        let jetStream: OpaquePointer
        /// Whether the first attempt succeeded: libnats reports only connections that are made later.
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

    /// What became of a message that was published with `publish`.
    package struct PublishResult: Sendable {
        package enum Outcome: Hashable, Sendable {
            /// It is stored, at this place of the stream; now, or when it was published before.
            case stored(sequence: UInt64, isRepeat: Bool)
            /// It is not known whether it is stored: publish it again with the same identifier.
            case unknown(String)
            /// It is not stored: publish it again.
            case notStored(String)
            /// The stream is full, and does not drop what is old.
            case full(String)
        }

        /// The identifier that it was published with.
        package let identifier: String
        package let outcome: Outcome
    }

    /// It is not released: a thread of libnats may still be in one of its closures. There is one connection in a program's life.
    private let handlers: Unmanaged<Handlers>
    private let native: Mutex<Native>
    private let settings: NATSSettings

    /// - Parameters:
    ///   - connected: called on a thread of libnats, or by this and `connectAgain`, when a connection is made (true) or lost (false).
    ///   - gaveUp: called on a thread of libnats, or by `connectAgain`, when it will not connect any more.
    ///   - acknowledged: called on a thread of libnats for each message that `publish` was given, unless it threw or libnats gave up.
    /// - Throws: for settings that libnats can't use. Servers that are away are no error.
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

    /// Connects anew if libnats gave up; does nothing otherwise. What is published, and was not acknowledged, is not: publish it again.
    package func connectAgain() {
        guard isGivenUp else { return }
        do throws(NATSError) {
            let native = try Native(settings, handlers)
            // The old one ends outside of the lock.
            let old = self.native.withLock { current in
                defer { current = native }
                return current
            }
            withExtendedLifetime(old) {}
            if native.wasConnectedAtOnce { handlers.takeUnretainedValue().noteConnected() }
        } catch {
            // A file of the settings may be away at the moment.
            handlers.takeUnretainedValue().gaveUp()
        }
    }

    private var isGivenUp: Bool { withConnection { natsConnection_IsClosed($0) } }

    /// Calls libnats with its connection.
    func withConnection<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        let native = native.withLock { $0 }
        return withExtendedLifetime(native) { body(native.connection) }
    }

    /// Calls libnats with its context of JetStream.
    func withJetStream<Result>(_ body: (OpaquePointer) -> Result) -> Result {
        let native = native.withLock { $0 }
        return withExtendedLifetime(native) { body(native.jetStream) }
    }

    /// Whether there is a connection. Like `problem` it waits while the library tries to connect.
    package var isConnected: Bool { withConnection { natsConnection_Status($0) } == NATS_CONN_STATUS_CONNECTED }

    /// Why there is no connection; nil if the library says nothing.
    ///
    /// Until there was one, and if libnats gave up, this makes an attempt of its own: libnats says why it failed, such as a wrong
    /// password, and nothing of those that it repeats.
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

    /// Connects for a moment.
    /// - Returns: why that failed; nil if it did not.
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

    /// Has a connection that is made with the options be made again whenever it is lost or no server takes it.
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
                // Without it, libnats writes errors to standard error.
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
