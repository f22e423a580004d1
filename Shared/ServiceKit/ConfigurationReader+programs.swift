extension ConfigurationReader {
    /// Where programs publish that are listened to: the setting `subscribe`.
    /// - Throws: `ServiceError` (bad configuration), also for another machine without `keys` or `insecure`.
    package func subscribe(to program: Program) throws(ServiceError) -> [Endpoint] {
        let endpoints = try values("subscribe", as: Endpoint.self)
        for endpoint in endpoints { try require(endpoint, of: program) }
        return endpoints.isEmpty ? [program.defaultPublish] : endpoints
    }

    /// Where a program is asked: the setting that has its name.
    /// - Throws: `ServiceError` (bad configuration), also for another machine without `keys` or `insecure`.
    package func reply(of program: Program) throws(ServiceError) -> Endpoint {
        let endpoint = try value(program.rawValue, default: program.defaultReply)
        try require(endpoint, of: program)
        return endpoint
    }

    private func require(_ endpoint: Endpoint, of program: Program) throws(ServiceError) {
        let hasKeys = try value("keys", as: String.self) != nil
        if !hasKeys, try !value("insecure", default: false) { try endpoint.requireLocal(connectingTo: program) }
    }
}
