import SystemPackage

extension Setting where Value == [Endpoint] {
    /// Where programs publish that are listened to. Refused is another machine without `keys` or `insecure`.
    package convenience init(listeningTo program: Program, _ help: String) {
        self.init(wrappedValue: [program.defaultPublish], help, valueName: "endpoint") {
            endpoints, _, reader throws(ServiceError) in
            try reader.requireProtection(of: endpoints, to: program)
        }
    }
}

extension Setting where Value == Endpoint {
    /// Where a program is asked. Refused is another machine without `keys` or `insecure`.
    package convenience init(asking program: Program, _ help: String) {
        self.init(wrappedValue: program.defaultReply, help, valueName: "endpoint") {
            endpoint, _, reader throws(ServiceError) in
            try reader.requireProtection(of: [endpoint], to: program)
        }
    }
}

extension ConfigurationReader {
    /// Also with keys: that of the other program has to be there.
    fileprivate func requireProtection(of endpoints: [Endpoint], to program: Program) throws(ServiceError) {
        if let keys = try value(\ServiceSettings.$keys) {
            _ = try KeyDirectory(keys).publicKey(of: program.rawValue)
        } else if try !value(\ServiceSettings.$insecure) {
            for endpoint in endpoints { try endpoint.requireLocal(connectingTo: program) }
        }
    }
}
