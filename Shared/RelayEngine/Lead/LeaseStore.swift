import Messages
import NATS
import RelayCore

/// The lease in its bucket. Its calls wait for the servers: it belongs to a thread of its own.
final class LeaseStore {
    static let bucket = "holdfast-leases"
    /// What a lease may take: NATS refuses messages above 1 MB by default.
    private static let maximumValue = 900_000

    private let connection: NATSConnection
    private let store: KeyValue
    private let key: String
    private let replicas: Int
    /// Milliseconds.
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
            if !isOpen { try store.create(replicas: replicas, maximumValue: Self.maximumValue) }
            isOpen = true
            guard let entry = try store.entry(key, limit: limit) else { return .absent(revision: nil) }
            guard let bytes = entry.value else { return .absent(revision: entry.revision) }
            return .value(try WireCoding.decode(LeaseValue.self, from: bytes), revision: entry.revision)
        } catch {
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
