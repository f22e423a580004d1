import FoundationEssentials
package import SystemPackage

/// Finds this package's programs: in the directory that `HOLDFAST_PROGRAMS` names, or beside the running test program.
package enum ProductsDirectory {
    /// The directory of the running test program, with the other products of its build.
    package static var build: FilePath {
        get throws {
            FilePath(try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"))
                .removingLastComponent()
        }
    }

    /// The path of a program of this package.
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
