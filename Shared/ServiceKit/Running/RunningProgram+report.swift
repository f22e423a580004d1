extension RunningProgram {
    /// Asks a running program for a subcommand, and prints what is made of its answers; an error is shown, and ends the
    /// subcommand with the exit code that it stands for.
    package static func report(
        of program: Program, options: ServiceOptions, _ body: (RunningProgram) async throws -> String
    ) async throws {
        try await program.showing {
            StandardStream.output.print(try await body(RunningProgram(program, options: options)))
        }
    }
}
