import SystemPackage

/// The laboratory's output, during the work and at its end.
enum Console {
    /// Prints a line without buffering.
    static func say(_ line: String) {
        // Ignores a closed pipe.
        _ = try? FileDescriptor.standardOutput.writeAll((line + "\n").utf8)
    }
}
