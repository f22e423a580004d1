import CNATS
import FoundationEssentials
import Glibc

/// The configuration of a JetStream stream to create.
package struct NATSStreamSettings: Hashable, Sendable {
    package var name: String
    package var subjects: [String]
    /// The number of servers with a copy.
    package var replicas: Int
    /// The size limit in bytes: a full stream refuses new messages and keeps old ones. Nil for no limit of its own.
    package var maximumBytes: Int64?
    /// The age in nanoseconds after which messages are removed; nil for no limit.
    package var maximumAge: Int64?
    /// How long an identifier is remembered, in nanoseconds.
    package var duplicateWindow: Int64

    package init(
        name: String, subjects: [String], replicas: Int, maximumBytes: Int64?, maximumAge: Int64?,
        duplicateWindow: Int64
    ) {
        self.name = name
        self.subjects = subjects
        self.replicas = replicas
        self.maximumBytes = maximumBytes
        self.maximumAge = maximumAge
        self.duplicateWindow = duplicateWindow
    }
}

/// The state of a JetStream stream.
package struct NATSStreamState: Hashable, Sendable {
    package let replicas: Int
    /// How long an identifier is remembered, in nanoseconds.
    package let duplicateWindow: Int64
    /// When the stream was created, in nanoseconds since 1970. A recreated stream has a different time. All servers report the
    /// same.
    package let made: Int64
    /// The number of its first message; if it has none, of the next one.
    package let first: UInt64
}

/// What is known about a server's version.
package enum NATSServerVersion: Hashable, Sendable, CustomStringConvertible {
    case before2_10
    case version2_10
    /// 2.11 and later report their exact version.
    case exactly(String)

    package var description: String {
        switch self {
        case .before2_10: "older than 2.10"
        case .version2_10: "2.10"
        case .exactly(let version): version
        }
    }

    /// Whether a server sends several messages for one request, as servers since 2.11 do.
    package var sendsBatches: Bool {
        if case .exactly = self { true } else { false }
    }

    /// Whether an acknowledgement with `sync_interval: always` waits for the disks of a majority, as servers since 2.15 do.
    package var syncsWithMajority: Bool {
        guard case .exactly(let version) = self else { return false }
        let parts = version.split(separator: ".").prefix(2).compactMap { Int($0) }
        return parts.count == 2 && (parts[0], parts[1]) >= (2, 15)
    }
}

extension NATSConnection {
    /// Creates a stream if no stream has its name.
    package func createStream(_ settings: NATSStreamSettings) throws(NATSError) {
        do throws(NATSError) {
            _ = try streamState(settings.name)
            return
        } catch {
            guard error.isNotFound else { throw error }
        }
        let subjects = settings.subjects.map { strdup($0) }
        defer { for subject in subjects { free(subject) } }
        var pointers = subjects.map { UnsafePointer($0) }
        let count = Int32(pointers.count)
        var number = jsErrCode(0)
        let status = settings.name.withCString { name in
            pointers.withUnsafeMutableBufferPointer { pointers in
                var configuration = jsStreamConfig()
                jsStreamConfig_Init(&configuration)
                configuration.Name = name
                configuration.Subjects = pointers.baseAddress
                configuration.SubjectsLen = count
                configuration.Storage = js_FileStorage
                configuration.Discard = js_DiscardNew
                configuration.Replicas = Int64(settings.replicas)
                configuration.MaxBytes = settings.maximumBytes ?? -1
                configuration.MaxAge = settings.maximumAge ?? 0
                configuration.Duplicates = settings.duplicateWindow
                configuration.AllowDirect = true
                return withJetStream { js_AddStream(nil, $0, &configuration, nil, &number) }
            }
        }
        try check(status, number, during: "create the stream \(settings.name)")
    }

    /// - Parameter limit: the timeout in milliseconds.
    package func streamState(_ name: String, limit: Int64 = requestLimit) throws(NATSError) -> NATSStreamState {
        try withStreamInfo(name, limit: limit) { info in
            NATSStreamState(
                replicas: Int(info.Config?.pointee.Replicas ?? 1),
                duplicateWindow: info.Config?.pointee.Duplicates ?? 0, made: info.Created, first: info.State.FirstSeq)
        }
    }

    /// The subjects for which a stream has messages.
    /// - Parameter filter: a subject, which may contain wildcards.
    package func subjects(of stream: String, matching filter: String) throws(NATSError) -> [String] {
        try withStreamInfo(stream, subjects: filter) { info in
            guard let subjects = info.State.Subjects?.pointee, let list = subjects.List else { return [] }
            return (0..<Int(subjects.Count)).compactMap { list[$0].Subject.map { String(cString: $0) } }
        }
    }

    private func withStreamInfo<Result>(
        _ name: String, subjects: String? = nil, limit: Int64 = requestLimit, _ body: (jsStreamInfo) -> Result
    ) throws(NATSError) -> Result {
        var options = jsOptions()
        jsOptions_Init(&options)
        options.Wait = limit
        let filter = subjects.map { strdup($0) } ?? nil
        defer { free(filter) }
        options.Stream.Info.SubjectsFilter = UnsafePointer(filter)
        var info: UnsafeMutablePointer<jsStreamInfo>?
        var number = jsErrCode(0)
        let status = withJetStream { js_GetStreamInfo(&info, $0, name, &options, &number) }
        try check(status, number, during: "inspect the stream \(name)")
        guard let info else { throw NATSError(NATS_NOT_FOUND, during: "inspect the stream \(name)") }
        defer { jsStreamInfo_Destroy(info) }
        return body(info.pointee)
    }

    // MARK: The servers' version

    private struct StreamInfo: Decodable {
        struct Configuration: Decodable {
            var metadata: [String: String]?
        }
        var config: Configuration?
        var ts: String?
    }

    /// The version of the server that leads a stream. libnats does not report it, but the server's stream information does: since
    /// 2.11 the metadata includes it, and 2.10 was the first version to include the time.
    /// - Parameter limit: the timeout in milliseconds.
    package func serverVersion(
        leading stream: String, limit: Int64 = requestLimit
    ) throws(NATSError) -> NATSServerVersion {
        let info = try self.info(of: stream, limit: limit)
        if let version = info?.config?.metadata?["_nats.ver"] { return .exactly(version) }
        return info?.ts == nil ? .before2_10 : .version2_10
    }

    /// The time of the server that leads a stream, in ISO 8601; nil for servers before 2.10, which do not report it.
    package func serverTime(leading stream: String) throws(NATSError) -> String? {
        try info(of: stream, limit: Self.requestLimit)?.ts
    }

    private func info(of stream: String, limit: Int64) throws(NATSError) -> StreamInfo? {
        let data = try request("$JS.API.STREAM.INFO.\(stream)", "", limit: limit)
        return try? JSONDecoder().decode(StreamInfo.self, from: Data(data))
    }

    /// Sends a request and returns the reply's data.
    /// - Parameters:
    ///   - question: JSON, or empty.
    ///   - limit: the timeout in milliseconds.
    func request(_ subject: String, _ question: String, limit: Int64) throws(NATSError) -> [UInt8] {
        var reply: OpaquePointer?
        try check(
            withConnection { natsConnection_RequestString(&reply, $0, subject, question, limit) },
            during: "request \(subject)")
        defer { natsMsg_Destroy(reply) }
        return reply.map { NATSMessage.data(of: $0) } ?? []
    }
}
