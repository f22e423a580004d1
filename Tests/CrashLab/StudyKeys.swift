import SystemPackage
import TestSupport

/// A key and its certificate, made by the openssl program.
struct StudyKeys: Sendable {
    let certificate: FilePath
    let key: FilePath

    init(in directory: FilePath) async throws {
        certificate = directory.appending("study.pem")
        key = directory.appending("study.key")
        let arguments =
            ["req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=study", "-newkey", "rsa:2048", "-keyout"]
            + [key.string, "-out", certificate.string, "-addext", "keyUsage=critical,keyEncipherment"]
            + ["-addext", "basicConstraints=critical,CA:FALSE"]
        _ = try await ArchiveDriver.output(of: Tool.require("openssl"), arguments)
    }
}
