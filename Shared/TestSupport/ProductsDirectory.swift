import FoundationEssentials
package import SystemPackage

/// Where the build put this package's programs: beside the test program that runs now.
package enum ProductsDirectory {
    /// A program of this package.
    /// - Throws: `TestFailure` if it is not built.
    package static func executable(_ name: String) throws -> FilePath {
        let test = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let program = FilePath(test).removingLastComponent().appending(name)
        guard FileManager.default.isExecutableFile(atPath: program.string) else {
            throw TestFailure("\(program) is not there: build the package with `swift build` first")
        }
        return program
    }
}
