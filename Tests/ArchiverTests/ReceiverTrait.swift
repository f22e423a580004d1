import Testing

/// Runs a receiver once for all tests of a suite.
struct ReceiverTrait: SuiteTrait, TestScoping {
    let serve: @Sendable (_ body: @Sendable @concurrent () async throws -> Void) async throws -> Void

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        try await serve(function)
    }
}

extension Trait where Self == ReceiverTrait {
    /// nginx, as `Nginx.current`.
    static var nginx: Self {
        ReceiverTrait { body in
            try await Nginx.run { nginx in try await Nginx.$current.withValue(nginx) { try await body() } }
        }
    }

    /// The server that fails on demand, as `FaultyServer.current`.
    static var faultyServer: Self {
        ReceiverTrait { body in
            try await ReceiverPrograms.serve([["faulty_server.py"]]) { ready in
                try await FaultyServer.$current.withValue(FaultyServer(endpoint: ready[0].endpoint)) {
                    try await body()
                }
            }
        }
    }

    /// Both servers of S3, as `S3Server.current`.
    static var s3: Self {
        ReceiverTrait { body in
            try await S3Server.run { servers in
                try await S3Server.$current.withValue(servers) { try await body() }
            }
        }
    }
}
