import CNATS
import Glibc
import Synchronization

/// A connection to a cluster of NATS servers, and its JetStream.
///
/// It begins to connect when it is made, and connects again whenever it is lost, without end. Calls wait for a server's answer: make
/// them on a thread that may be blocked.
///
/// `@unchecked Sendable`: the pointers never change, and libnats' connections, contexts and subscriptions may be used by any number of
/// threads (nats.h, "Thread safety" of the library's README).
package final class NATSConnection: @unchecked Sendable {
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
        let acknowledged: @Sendable (PublishResult) -> Void

        init(
            _ connected: @escaping @Sendable (Bool) -> Void, _ acknowledged: @escaping @Sendable (PublishResult) -> Void
        ) {
            self.connected = connected
            self.acknowledged = acknowledged
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

    private let handlers: Unmanaged<Handlers>
    let connection: OpaquePointer
    let jetStream: OpaquePointer
    private let settings: NATSSettings

    /// - Parameters:
    ///   - connected: called on a thread of libnats when a connection is made (true) or lost (false).
    ///   - acknowledged: called on a thread of libnats for each message that `publish` was given, unless it threw.
    /// - Throws: for settings that libnats can't use. Servers that are away are no error.
    package init(
        _ settings: NATSSettings, connected: @escaping @Sendable (Bool) -> Void = { _ in },
        acknowledged: @escaping @Sendable (PublishResult) -> Void = { _ in }
    ) throws(NATSError) {
        self.settings = settings
        handlers = .passRetained(Handlers(connected, acknowledged))
        do throws(NATSError) {
            let options = try Self.options(settings)
            defer { natsOptions_Destroy(options) }
            try Self.makeLasting(options, handlers.toOpaque())
            var connection: OpaquePointer?
            let status = natsConnection_Connect(&connection, options)
            guard let connection, status == NATS_OK || status == NATS_NOT_YET_CONNECTED else {
                throw NATSError(status, during: "connect to \(settings.servers.joined(separator: ", "))")
            }
            if status == NATS_OK { handlers.takeUnretainedValue().wasConnected.store(true, ordering: .relaxed) }
            self.connection = connection
            jetStream = try Self.jetStream(of: connection, handlers.toOpaque())
        } catch {
            handlers.release()
            throw error
        }
    }

    /// Ends the connection; what waits to be acknowledged is not.
    package func close() { natsConnection_Close(connection) }

    deinit {
        natsConnection_Close(connection)
        jsCtx_Destroy(jetStream)
        natsConnection_Destroy(connection)
        // The handlers are not released: a thread of libnats may still be in one. There is one connection in a program's life.
    }

    /// Whether there is a connection. Like `problem` it waits while the library tries to connect.
    package var isConnected: Bool { natsConnection_Status(connection) == NATS_CONN_STATUS_CONNECTED }

    /// Why there is no connection; nil if the library says nothing.
    ///
    /// Until there was one, this makes an attempt of its own: libnats says why it failed, such as a wrong password, and nothing of those
    /// that it repeats.
    package var problem: String? {
        if !handlers.takeUnretainedValue().wasConnected.load(ordering: .relaxed), let problem = attempt() {
            return problem
        }
        var text: UnsafePointer<CChar>?
        let status = natsConnection_GetLastError(connection, &text)
        guard status != NATS_OK else { return nil }
        let detail = text.map { String(cString: $0) } ?? ""
        return detail.isEmpty ? String(cString: natsStatus_GetText(status)) : detail
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

    /// Has a connection that is made with the options be made again, without end, whenever it is lost or can't be made.
    private static func makeLasting(
        _ options: OpaquePointer, _ handlers: UnsafeMutableRawPointer
    ) throws(NATSError) {
        for status in [
            natsOptions_SetMaxReconnect(options, -1), natsOptions_SetReconnectWait(options, reconnectWait),
            natsOptions_SetReconnectJitter(options, reconnectWait, reconnectWait),
            natsOptions_SetRetryOnFailedConnect(options, true, noteConnected, handlers),
            natsOptions_SetReconnectedCB(options, noteConnected, handlers),
            natsOptions_SetDisconnectedCB(options, noteDisconnected, handlers),
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
        guard let handlers else { return }
        let told = Unmanaged<Handlers>.fromOpaque(handlers).takeUnretainedValue()
        told.wasConnected.store(true, ordering: .relaxed)
        told.connected(true)
    }

    private static let noteDisconnected: natsConnectionHandler = { _, handlers in
        handlers.map { Unmanaged<Handlers>.fromOpaque($0).takeUnretainedValue().connected(false) }
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
