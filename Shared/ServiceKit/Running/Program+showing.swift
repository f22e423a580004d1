import ArgumentParser

extension Program {
    /// Runs a subcommand. An error is printed, and ends the subcommand with its exit code.
    package func showing<Outcome>(_ body: () async throws -> Outcome) async throws -> Outcome {
        do {
            return try await body()
        } catch {
            StandardStream.error.print("\(self): \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }
}
