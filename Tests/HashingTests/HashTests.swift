import Hashing
import Testing

/// Compared with the examples in the standards.
@Suite(.timeLimit(.minutes(1)))
struct HashTests {
    private func hex(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    @Test func sha256HasTheDigestsOfTheStandard() {
        #expect(
            hex(SHA256.hash(data: Array("abc".utf8)))
                == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
        #expect(
            hex(SHA256.hash(data: [])) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855")
        #expect(
            hex(SHA256.hash(data: repeatElement(UInt8(ascii: "a"), count: 1_000_000)))
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }

    @Test func aCopyOfAHashGoesItsOwnWay() {
        var hash = SHA256()
        Array("ab".utf8).withUnsafeBytes { hash.update(bufferPointer: $0) }
        let before = hash
        Array("c".utf8).withUnsafeBytes { hash.update(bufferPointer: $0) }
        #expect(hash.finalize() == SHA256.hash(data: Array("abc".utf8)))
        #expect(hash.finalize() == SHA256.hash(data: Array("abc".utf8)))
        #expect(before.finalize() == SHA256.hash(data: Array("ab".utf8)))
    }

    @Test func md5HasTheDigestOfItsRFC() {
        #expect(hex(MD5.hash(data: Array("message digest".utf8))) == "f96b697d7cb7938d525a2f31aaf161d0")
    }

    /// RFC 4231, test case 2.
    @Test func anAuthenticationCodeIsThatOfTheRFC() {
        #expect(
            hex(SHA256.authenticationCode(for: Array("what do ya want for nothing?".utf8), key: Array("Jefe".utf8)))
                == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
    }
}
