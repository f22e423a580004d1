import ArgumentParser

/// The address that a socket binds or connects to: `tcp://127.0.0.1:5550`, `tcp://*:*`, `ipc:///run/holdfast/recorder`,
/// `inproc://recorder`.
///
/// Transport, host and port are checked as far as possible without opening a socket.
package struct Endpoint: Hashable, Sendable {
    package enum Transport: String, Hashable, Sendable {
        /// Over the network: zmq_tcp(7).
        case tcp
        /// Through a socket in the file system: zmq_ipc(7).
        case ipc
        /// Inside this process: zmq_inproc(7).
        case inproc
    }

    /// The endpoint in libzmq's spelling.
    package let description: String
    package let transport: Transport
    /// tcp: a name, an address, an interface or `*`; IPv6 in brackets. Otherwise the path or name.
    package let host: String
    /// tcp: 0 to 65535, or `nil` for `*`, any free port. Otherwise `nil`.
    package let port: UInt16?

    /// A tcp endpoint on this machine's loopback interface.
    package static func loopback(port: UInt16) -> Endpoint {
        Endpoint(transport: .tcp, host: "127.0.0.1", port: port, description: "tcp://127.0.0.1:\(port)")
    }

    /// An endpoint that is reachable only within this process.
    package static func inProcess(_ name: String) -> Endpoint {
        Endpoint(transport: .inproc, host: name, port: nil, description: "inproc://\(name)")
    }

    /// Whether only this machine can reach the endpoint.
    package var isLocal: Bool {
        switch transport {
        case .ipc, .inproc: true
        case .tcp: host == "localhost" || host == "lo" || host == "[::1]" || Self.isLoopbackAddress(host)
        }
    }

    /// Whether a socket bound to the endpoint is reachable at all addresses of this machine.
    package var isWildcard: Bool { ["*", "0.0.0.0", "[::]"].contains(host) }

    /// Refuses to listen at an endpoint that other machines can reach: without keys, anybody who can reach it can listen and
    /// send commands.
    /// - Throws: `ServiceError` with advice.
    package func requireLocal(listeningFor key: String) throws(ServiceError) {
        guard !isLocal else { return }
        let local = Endpoint(transport: .tcp, host: "127.0.0.1", port: port)
        throw ServiceError(
            .badConfiguration,
            "\(key) \(self) can be reached from other machines, and nothing protects it: pass --keys DIR (see "
                + "holdfast-keys), listen on \(local), or pass --insecure if the network is private")
    }

    /// Refuses to connect to another machine: without keys, anybody in between can read along, or impersonate the program.
    /// - Throws: `ServiceError` with advice.
    package func requireLocal(connectingTo program: Program) throws(ServiceError) {
        guard !isLocal else { return }
        throw ServiceError(
            .badConfiguration,
            "\(program) at \(self) is on another machine, and nothing protects the connection: pass --keys DIR (see "
                + "holdfast-keys), or pass --insecure if the network is private")
    }

    /// The endpoint at which programs on this machine reach a socket that is bound here: `tcp://127.0.0.1:5561` for
    /// `tcp://*:5561`. Nil if the port is not known before binding.
    package var reachableLocally: Endpoint? {
        guard transport == .tcp else { return host == "*" ? nil : self }
        guard let port, port != 0 else { return nil }
        return switch host {
        case "*", "0.0.0.0": .loopback(port: port)
        case "[::]": Endpoint(transport: .tcp, host: "[::1]", port: port)
        default: self
        }
    }

    private init(transport: Transport, host: String, port: UInt16?, description: String? = nil) {
        self.transport = transport
        self.host = host
        self.port = port
        self.description = description ?? "\(transport)://\(host):\(port.map(String.init) ?? "*")"
    }

    private static func isLoopbackAddress(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }
}

extension Endpoint: ConfigurationValue, ExpressibleByArgument {
    /// The maximum length of a socket's path: `sun_path` of unix(7) without its final zero.
    private static let longestPath = 107

    package init(typed text: String) throws(InvalidValue) {
        guard let colon = text.firstRange(of: "://"),
            let transport = Transport(rawValue: String(text[..<colon.lowerBound])),
            !text.contains(where: \.isWhitespace)
        else {
            throw InvalidValue("'\(text)' is not an endpoint: write tcp://127.0.0.1:5550, tcp://*:5550 or ipc:///path")
        }
        let address = text[colon.upperBound...]
        switch transport {
        case .tcp:
            guard let colon = address.lastIndex(of: ":"), colon != address.startIndex,
                Self.isHost(address[..<colon])
            else {
                throw InvalidValue("'\(text)' names no host and port: write tcp://127.0.0.1:5550 or tcp://*:5550")
            }
            let port = address[address.index(after: colon)...]
            guard port == "*" || UInt16(port) != nil else {
                throw InvalidValue("'\(text)' has no port: write a number from 0 to 65535, or * for any that is free")
            }
            self.init(transport: .tcp, host: String(address[..<colon]), port: UInt16(port), description: text)
        case .ipc, .inproc:
            guard !address.isEmpty else {
                throw InvalidValue("'\(text)' names no \(transport == .ipc ? "path" : "name")")
            }
            guard transport == .inproc || address.utf8.count <= Self.longestPath else {
                throw InvalidValue("'\(text)' is too long: a socket's path has at most \(Self.longestPath) bytes")
            }
            self.init(transport: transport, host: String(address), port: nil, description: text)
        }
    }

    private static func isHost(_ text: Substring) -> Bool {
        if text.first == "[" { return text.last == "]" && text.count > 2 }
        return text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || ".-_*".contains($0)) }
    }
}
