import Messages
import NATS
import RelayCore

/// The lease in its bucket. Calls block until the servers reply, so it belongs to its own thread.
final class LeaseStore {
    static let bucket = "holdfast-leases"

    private let connection: NATSConnection
    private let store: KeyValue
    private let key: String
    private let replicas: Int
    /// The timeout of a request, in milliseconds.
    private let limit: Int64
    private var isOpen = false

    init(_ connection: NATSConnection, lease: String, replicas: Int, limit: Int64) {
        self.connection = connection
        store = KeyValue(connection, bucket: Self.bucket)
        key = lease
        self.replicas = replicas
        self.limit = limit
    }

    func read() -> Leadership.Answer {
        connection.connectAgain()
        do {
            if !isOpen { try store.create(replicas: replicas, maximumValue: Leadership.maximumSize) }
            isOpen = true
            guard let entry = try store.entry(key, limit: limit) else { return .absent(revision: nil) }
            guard let bytes = entry.value else { return .absent(revision: entry.revision) }
            return .value(try WireCoding.decode(LeaseValue.self, from: bytes), revision: entry.revision)
        } catch {
            // The bucket was deleted; the next read creates it again.
            if (error as? NATSError)?.isNotFound == true { isOpen = false }
            return .unknown("\(error)")
        }
    }

    func write(_ value: LeaseValue, replacing revision: UInt64?) -> Leadership.Answer {
        connection.connectAgain()
        do {
            let bytes = try WireCoding.encode(value)
            return .stored(revision: try store.write(bytes, to: key, replacing: revision, limit: limit))
        } catch let error as NATSError where error.isWrongRevision {
            return .conflict
        } catch {
            return .unknown("\(error)")
        }
    }
}
