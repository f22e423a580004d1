import FoundationEssentials
import SystemPackage

/// Writes a file into a directory of its own, passes its path to `body`, and removes both.
package func withFile<Result>(_ name: String, _ contents: [UInt8], _ body: (String) throws -> Result) throws -> Result {
    try withTemporaryDirectory { directory in
        let file = directory.appending(name).string
        try Data(contents).write(to: URL(filePath: file))
        return try body(file)
    }
}

/// The same with text and an asynchronous closure.
package func withFile(_ name: String, _ text: String, _ body: (String) async throws -> Void) async throws {
    try await withTemporaryDirectory { directory in
        let file = directory.appending(name).string
        try Data(text.utf8).write(to: URL(filePath: file))
        try await body(file)
    }
}

/// The same with text.
package func withFile<Result>(_ name: String, _ text: String, _ body: (String) throws -> Result) throws -> Result {
    try withFile(name, Array(text.utf8), body)
}
