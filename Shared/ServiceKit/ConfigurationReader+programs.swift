import SystemPackage

extension ConfigurationReader {
    /// Where programs publish that are listened to: the setting `subscribe`.
    /// - Throws: `ServiceError` (bad configuration), also for another machine without `keys` or `insecure`.
    package func subscribe(to program: Program) throws(ServiceError) -> [Endpoint] {
        let endpoints = try values("subscribe", as: Endpoint.self)
        try requireProtection(of: endpoints, to: program)
        return endpoints.isEmpty ? [program.defaultPublish] : endpoints
    }

    /// Where a program is asked: the setting that has its name.
    /// - Throws: `ServiceError` (bad configuration), also for another machine without `keys` or `insecure`.
    package func reply(of program: Program) throws(ServiceError) -> Endpoint {
        let endpoint = try value(program.rawValue, default: program.defaultReply)
        try requireProtection(of: [endpoint], to: program)
        return endpoint
    }

    /// Also with keys: that of the other program has to be there.
    private func requireProtection(of endpoints: [Endpoint], to program: Program) throws(ServiceError) {
        if let keys = try value("keys", as: FilePath.self) {
            _ = try KeyDirectory(keys).publicKey(of: program.rawValue)
        } else if try !value("insecure", default: false) {
            for endpoint in endpoints { try endpoint.requireLocal(connectingTo: program) }
        }
    }
}
