import CNATS

/// A bucket of JetStream's key-value store, which replicates the last value of each key. A write names the revision that it
/// replaces, so one of two concurrent writes is refused.
///
/// Reads go to the stream's leader, since a replica may have older values.
package struct KeyValue: Sendable {
    package struct Entry: Hashable, Sendable {
        /// Nil if the key was deleted.
        package let value: [UInt8]?
        package let revision: UInt64
    }

    private static let operationHeader = "KV-Operation"

    private let connection: NATSConnection
    private let bucket: String

    package init(_ connection: NATSConnection, bucket: String) {
        self.connection = connection
        self.bucket = bucket
    }

    /// Creates the bucket if it does not exist.
    /// - Parameters:
    ///   - replicas: the number of servers with a copy.
    ///   - maximumValue: the size limit of a value, in bytes.
    package func create(replicas: Int, maximumValue: Int) throws(NATSError) {
        var store: OpaquePointer?
        let known = connection.withJetStream { js_KeyValue(&store, $0, bucket) }
        if known == NATS_NOT_FOUND {
            let status = bucket.withCString { name in
                var configuration = kvConfig()
                kvConfig_Init(&configuration)
                configuration.Bucket = name
                configuration.History = 1
                configuration.MaxValueSize = Int32(clamping: maximumValue)
                configuration.Replicas = Int32(clamping: replicas)
                configuration.StorageType = js_FileStorage
                return connection.withJetStream { js_CreateKeyValue(&store, $0, &configuration) }
            }
            try check(status, during: "create the bucket \(bucket)")
        } else {
            try check(known, during: "open the bucket \(bucket)")
        }
        kvStore_Destroy(store)
    }

    /// - Parameter limit: the timeout in milliseconds.
    /// - Returns: nil if the key was never written.
    package func entry(_ key: String, limit: Int64) throws(NATSError) -> Entry? {
        let message = try connection.lastMessage(
            of: subject(key), in: "KV_\(bucket)", headers: [Self.operationHeader], limit: limit)
        return message.map { message in
            Entry(value: message.headers.isEmpty ? message.data : nil, revision: message.sequence)
        }
    }

    /// - Parameters:
    ///   - revision: the current revision of the key; nil if it was never written.
    ///   - limit: the timeout in milliseconds.
    /// - Returns: the new revision.
    /// - Throws: an error with `isWrongRevision` if the current revision differs. After an error with `isTimeout`, the write may
    ///   have happened or may still happen.
    package func write(
        _ value: [UInt8], to key: String, replacing revision: UInt64?, limit: Int64
    ) throws(NATSError) -> UInt64 {
        var options = jsPubOptions()
        jsPubOptions_Init(&options)
        options.MaxWait = limit
        options.ExpectLastSubjectSeq = revision ?? 0
        options.ExpectNoMessage = revision == nil
        var acknowledgement: UnsafeMutablePointer<jsPubAck>?
        var number = jsErrCode(0)
        let status = connection.withJetStream { jetStream in
            value.withUnsafeBytes {
                js_Publish(
                    &acknowledgement, jetStream, subject(key), $0.baseAddress, Int32($0.count), &options, &number)
            }
        }
        defer { jsPubAck_Destroy(acknowledgement) }
        try check(status, number, during: "write \(key) of \(bucket)")
        return acknowledgement?.pointee.Sequence ?? 0
    }

    private func subject(_ key: String) -> String { "$KV.\(bucket).\(key)" }
}
