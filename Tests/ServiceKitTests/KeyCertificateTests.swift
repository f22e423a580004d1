import Messages
import ServiceKit
import Testing
import ZeroMQ

/// Certificates as CZMQ and pyzmq write them.
@Suite struct KeyCertificateTests {
    private let pair: CurveKeyPair
    private let other: CurveKeyPair

    init() throws {
        pair = try .generate()
        other = try .generate()
    }

    @Test(arguments: Role.allCases)
    func whatIsWrittenIsRead(role: Role) throws {
        let written = KeyCertificate(publicKey: pair.publicKey, pair: pair, role: role)
        #expect(try KeyCertificate(text: written.secretText) == written)
        let open = try KeyCertificate(text: written.publicText)
        #expect(open == KeyCertificate(publicKey: pair.publicKey, role: role))
        #expect(!written.publicText.contains(pair.secretKey.text))
    }

    @Test func pyzmqsFilesAreRead() throws {
        let text = """
            #   ****  Generated on 2026-11-21 16:00:00.000000 by pyzmq  ****
            #   ZeroMQ CURVE **Secret** Certificate
            #   DO NOT PROVIDE THIS FILE TO OTHER USERS nor change its permissions.

            metadata
                role = command
                name = Alice's # phone = 1
            curve
                public-key = "\(pair.publicKey.text)"
                secret-key = "\(pair.secretKey.text)"

            """
        let expected = KeyCertificate(publicKey: pair.publicKey, pair: pair, role: .command)
        #expect(try KeyCertificate(text: text) == expected)
        #expect(try KeyCertificate(text: text.replacing("    ", with: "\t").replacing("\"", with: "'")) == expected)
    }

    @Test func aKeyWithoutARoleIsReadAndSaysNone() throws {
        #expect(try KeyCertificate(text: "curve\n    public-key = \"\(pair.publicKey.text)\"").role == nil)
    }

    @Test func whatIsWrongIsSaid() throws {
        let key = pair.publicKey.text
        let wrong = [
            ("", "it has no public-key under curve"),
            ("public-key = \"\(key)\"", "it has no public-key under curve"),
            ("metadata\n    public-key = \"\(key)\"", "it has no public-key under curve"),
            ("curve\n    public-key = \"short\"", "its public-key is not a key: 40 characters of Z85"),
            ("curve\n    public-key = \"\(key)", "line 2 lacks a closing quote"),
            ("curve\n    public-key = \"", "line 2 lacks a closing quote"),
            (
                "curve\n    public-key = \"\(key)\"\n    secret-key = \"x\"",
                "its secret-key is not a key: 40 characters of Z85"
            ),
            (
                "curve\n    public-key = \"\(key)\"\n    secret-key = \"\(other.secretKey.text)\"",
                "its public-key and its secret-key do not match"
            ),
            (
                "metadata\n    role = \"root\"\ncurve\n    public-key = \"\(key)\"",
                "the role 'root' is not one of listen, command, delete"
            ),
            (
                "metadata\n    role = listen\n    role = delete\ncurve\n    public-key = \"\(key)\"",
                "line 3 repeats metadata/role"
            ),
        ]
        for (text, reason) in wrong {
            let error = #expect(throws: InvalidValue.self) { try KeyCertificate(text: text) }
            #expect(error?.description == reason)
        }
    }
}
