#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif
package import ServiceKit

extension Endpoint {
    /// The endpoint as others are told it: a socket that listens on all addresses is reached by this computer's name.
    /// - Parameter listening: where a socket listens, with its real port.
    package static func announced(_ listening: String) -> String {
        guard let endpoint = try? Endpoint(typed: listening), endpoint.transport == .tcp, let port = endpoint.port,
            ["*", "0.0.0.0", "[::]"].contains(endpoint.host)
        else { return listening }
        return "tcp://\(hostName):\(port)"
    }

    private static var hostName: String {
        // HOST_NAME_MAX of limits.h is 64, and names of 255 are the longest that there can be.
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "localhost" }
        return String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
