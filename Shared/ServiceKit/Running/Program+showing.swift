import ArgumentParser

extension Program {
    /// Does what a subcommand is for. An error is shown, and ends the subcommand with the exit code that it stands for.
    package func showing<Outcome>(_ body: () async throws -> Outcome) async throws -> Outcome {
        do {
            return try await body()
        } catch {
            StandardStream.error.print("\(self): \(error)\n")
            throw ExitCode(ExitStatus(error).rawValue)
        }
    }
}
