import TestSupport
import ZeroMQ

@testable import Upload

/// A client of web servers, on a thread of its own.
actor WebClient {
    private let thread: SocketThread

    nonisolated var unownedExecutor: UnownedSerialExecutor { thread.unownedExecutor }

    init() throws { thread = try SocketThread(name: "test") }

    /// The body at an address.
    /// - Throws: `TestFailure` with the server's error.
    func get(_ address: String) throws -> String {
        let request = HTTPRequest(method: "GET", address: try WebAddress(typed: address))
        let response = try HTTPConnection(HTTPOptions()).send(request, UploadThrottle())
        guard response.isSuccess else { throw TestFailure("\(address): \(response.status) \(response.text)") }
        return response.text
    }
}
