extension RunningProgram {
    /// Asks a running program for a subcommand, and prints the resulting text; an error is printed, and ends the subcommand
    /// with its exit code.
    package static func report(
        of program: Program, options: ServiceOptions, _ body: (RunningProgram) async throws -> String
    ) async throws {
        try await program.showing {
            StandardStream.output.print(try await body(RunningProgram(program, options: options)))
        }
    }
}
