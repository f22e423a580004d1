import FoundationEssentials
import SystemPackage
import TestSupport

/// A test's keys and certificates, made by the openssl program.
struct TestKeys {
    private let directory: FilePath

    init(in directory: FilePath) {
        self.directory = directory
    }

    /// Writes a certificate that was valid in 2020, and is suitable otherwise.
    func writeExpired() throws -> FilePath {
        let path = directory.appending("expired.pem")
        try Data(Self.expired.utf8).write(to: URL(filePath: path.string))
        return path
    }

    private static let expired = """
        -----BEGIN CERTIFICATE-----
        MIIBTjCB9KADAgECAgEBMAoGCCqGSM49BAMCMBAxDjAMBgNVBAMMBXN0dWR5MB4X
        DTIwMDEwMTAwMDAwMFoXDTIxMDEwMTAwMDAwMFowEDEOMAwGA1UEAwwFc3R1ZHkw
        WTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAAQlrUtRKlIKDUueaRalxr4V+jDxPlYj
        jLtiMdtOphCgRtYmPhBTiJc03CzQ12HdC4A5pmQiuqodV4/wvuebVMccoz8wPTAO
        BgNVHQ8BAf8EBAMCAwgwDAYDVR0TAQH/BAIwADAdBgNVHQ4EFgQURb1KrJg+hAho
        HzZrfSbl6cNXsDwwCgYIKoZIzj0EAwIDSQAwRgIhAJz1rRXAvdz9FTlUQZhi3nTp
        X+eVUWzeBcems+Y0/SkeAiEAiz8NzRpJdOmw4YE/c2iI4yTIL7Uiml9NCpgbyfH9
        mh4=
        -----END CERTIFICATE-----

        """

    /// Makes a key and a certificate that is valid for 30 days.
    /// - Parameters:
    ///   - kind: `rsa`, `rsa1024`, `ec` or `ed25519`.
    ///   - extensions: by default, the usual ones for encryption.
    ///   - authority: the signer; nil for a self-signed certificate.
    func make(
        _ name: String, kind: String, extensions: [String]? = nil,
        signedBy authority: (certificate: FilePath, key: FilePath)? = nil
    ) async throws -> (certificate: FilePath, key: FilePath) {
        let (certificate, key) = (directory.appending("\(name).pem"), directory.appending("\(name).key"))
        let usage = kind == "ec" ? "keyAgreement" : "keyEncipherment"
        let algorithm =
            switch kind {
            case "ec": ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
            case "rsa1024": ["-newkey", "rsa:1024"]
            case "ed25519": ["-newkey", "ed25519"]
            default: ["-newkey", "rsa:2048"]
            }
        var all = extensions ?? ["keyUsage=critical,\(usage)"]
        if !all.contains(where: { $0.hasPrefix("basicConstraints") }) {
            all.append("basicConstraints=critical,CA:FALSE")
        }
        try await Tool.output(
            of: "openssl",
            [
                "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=\(name)", "-keyout", key.string, "-out",
                certificate.string,
            ] + algorithm + all.flatMap { ["-addext", $0] }
                + (authority.map { ["-CA", $0.certificate.string, "-CAkey", $0.key.string] } ?? []))
        return (certificate, key)
    }
}
