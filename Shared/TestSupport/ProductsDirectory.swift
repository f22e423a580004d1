import FoundationEssentials
package import SystemPackage

/// Where this package's programs are: in the directory that `HOLDFAST_PROGRAMS` names, or beside the test program that runs now.
package enum ProductsDirectory {
    /// Where the test program that runs now is, with what else its build made.
    package static var build: FilePath {
        get throws {
            FilePath(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
                .removingLastComponent()
        }
    }

    /// A program of this package.
    /// - Throws: `TestFailure` if it is not built.
    package static func executable(_ name: String) throws -> FilePath {
        let named = ProcessInfo.processInfo.environment["HOLDFAST_PROGRAMS"].map { FilePath($0) }
        let program = try (named ?? build).appending(name)
        guard FileManager.default.isExecutableFile(atPath: program.string) else {
            throw TestFailure("\(program) is not there: build the package with `swift build` first")
        }
        return program
    }
}
