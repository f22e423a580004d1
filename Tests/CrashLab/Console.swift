import SystemPackage

/// What the laboratory says while it works, and at its end.
enum Console {
    /// Prints a line at once.
    static func say(_ line: String) {
        // Who closed the pipe does not want to know.
        _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
    }
}
