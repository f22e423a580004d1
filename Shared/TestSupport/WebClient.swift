import Glibc
import ZeroMQ

/// A raw connection to a port of this machine, for input that no proper client would send.
public actor WebClient {
    private static let limit: Int64 = 50_000_000_000
    /// All clients share this thread.
    private static let shared = Result { try SocketThread(name: "clients") }

    private let thread: SocketThread
    private let descriptor: Int32

    /// The thread that all clients share.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    /// Starts to connect, which takes time if the server accepts no more connections.
    public init(port: UInt16) throws {
        thread = try Self.shared.get()
        descriptor = socket(
            AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
        let result = withAddress(port: port) { connect(descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else { throw TestFailure("connect: \(errno)") }
    }

    deinit { close(descriptor) }

    /// Sends a text once connected. Whether the server reads it does not matter.
    public func send(_ text: String) async throws {
        let deadline = MonotonicClock.now + Self.limit
        let bytes = Array(text.utf8)
        while Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL)) < 0, errno == EAGAIN,
            MonotonicClock.now < deadline
        {
            try await thread.sleep(until: MonotonicClock.now + 5_000_000)
        }
    }

    /// Everything the server sends until it closes the connection; nil if it does not close it in time.
    public func answer() async throws -> String? { try await bytes().map { String(decoding: $0, as: UTF8.self) } }

    /// The same as bytes.
    public func bytes() async throws -> [UInt8]? {
        let deadline = MonotonicClock.now + Self.limit
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4_096)
        while try await thread.readable(descriptor: descriptor, deadline: deadline) {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            guard count > 0 else { return bytes }
            bytes += chunk[..<count]
        }
        return nil
    }

    /// Received text, appended to `before`; returns when it satisfies `isSo`, or the server closed the connection.
    /// - Throws: `TestFailure` if neither happens in time.
    public func text(
        _ what: String, after before: String = "", where isSo: @Sendable (String) -> Bool
    ) async throws -> String {
        let deadline = MonotonicClock.now + Self.limit
        var bytes = Array(before.utf8)
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while try await thread.readable(descriptor: descriptor, deadline: deadline) {
            let count = recv(descriptor, &chunk, chunk.count, 0)
            if count <= 0 { break }
            bytes += chunk[..<count]
            let text = String(decoding: bytes, as: UTF8.self)
            if isSo(text) { return text }
        }
        throw TestFailure("\(what) did not come, but \(String(decoding: bytes.suffix(2_000), as: UTF8.self))")
    }

    /// A server's response to a raw request.
    public static func answer(_ request: String, port: UInt16) async throws -> String? {
        let client = try WebClient(port: port)
        try await client.send(request)
        return try await client.answer()
    }
}
