import Hashing
import Files
import FoundationEssentials
import Messages
import Recording
import Testing

@testable import Upload

/// The examples that AWS publishes ("Signature Calculations for the Authorization Header: Transferring Payload in a Single
/// Chunk"), to the letter.
@Suite struct UploadSignatureTests {
    private let host = "examplebucket.s3.amazonaws.com"
    private let empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

    private func signature(
        _ method: String, _ path: String, query: [(String, String?)] = [], headers: [HTTPHeader] = [],
        payload: String? = nil
    ) throws -> String {
        let credentials = try S3Credentials.Source.environment([
            "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
            "AWS_SECRET_ACCESS_KEY": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ]).credentials()
        // 2013-05-24T00:00:00Z
        let date = WallTime(nanosecondsSince1970: 1_369_353_600_000_000_000)
        let headers = SignatureV4(credentials: credentials, region: "us-east-1", date: date).headers(
            method, authority: host, path: path, query: query, headers: headers, payload: payload ?? empty)
        let authorization = try #require(headers["authorization"])
        #expect(
            authorization.hasPrefix(
                "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders="))
        return String(authorization.suffix(64))
    }

    @Test func anObjectIsRead() throws {
        #expect(
            try signature("GET", "/test.txt", headers: [HTTPHeader("Range", "bytes=0-9")])
                == "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test func anObjectIsWritten() throws {
        let payload = SHA256.hash(data: Data("Welcome to Amazon S3.".utf8)).hexDigits
        let headers = [
            HTTPHeader("Date", "Fri, 24 May 2013 00:00:00 GMT"),
            HTTPHeader("x-amz-storage-class", "REDUCED_REDUNDANCY"),
        ]
        #expect(
            try signature("PUT", "/" + PercentEncoding.path("test$file.text"), headers: headers, payload: payload)
                == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test func aQueryHasNoValue() throws {
        #expect(
            try signature("GET", "/", query: [("lifecycle", nil)])
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
    }

    @Test func aQueryIsSorted() throws {
        #expect(
            try signature("GET", "/", query: [("prefix", "J"), ("max-keys", "2")])
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test func aLentKeySendsItsToken() throws {
        let credentials = try S3Credentials.Source.environment([
            "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_SESSION_TOKEN": "c",
        ]).credentials()
        let headers = SignatureV4(credentials: credentials, region: "r", date: .now).headers(
            "GET", authority: host, path: "/", query: [], headers: [], payload: empty)
        #expect(headers["x-amz-security-token"] == "c")
        #expect(headers["authorization"]?.contains("x-amz-security-token") == true)
    }
}
