import SystemPackage

extension Setting where Value == [Endpoint] {
    /// Endpoints at which a program publishes. One on another machine is refused without `keys` or `insecure`.
    package convenience init(listeningTo program: Program, _ help: String) {
        self.init(wrappedValue: [program.defaultPublish], help, valueName: "endpoint") {
            endpoints, _, reader throws(ServiceError) in
            try reader.requireProtection(of: endpoints, to: program)
        }
    }
}

extension Setting where Value == Endpoint {
    /// The endpoint at which a program answers requests. One on another machine is refused without `keys` or `insecure`.
    package convenience init(asking program: Program, _ help: String) {
        self.init(wrappedValue: program.defaultReply, help, valueName: "endpoint") {
            endpoint, _, reader throws(ServiceError) in
            try reader.requireProtection(of: [endpoint], to: program)
        }
    }
}

extension ConfigurationReader {
    /// With keys, the other program's key must exist.
    fileprivate func requireProtection(of endpoints: [Endpoint], to program: Program) throws(ServiceError) {
        if let keys = try value(\ServiceSettings.$keys) {
            _ = try KeyDirectory(keys).publicKey(of: program.rawValue)
        } else if try !value(\ServiceSettings.$insecure) {
            for endpoint in endpoints { try endpoint.requireLocal(connectingTo: program) }
        }
    }
}
