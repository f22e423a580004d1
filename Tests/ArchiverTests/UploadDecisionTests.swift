import Hashing
import Files
import FoundationEssentials
import Recording
import SystemPackage
import TestSupport
import Testing

@testable import Upload

/// Decisions that need no network: when to retry, how fast to send, how to split, which hash to trust.
@Suite struct UploadDecisionTests {
    private func error(_ retry: UploadError.Retry) -> UploadError {
        UploadError(.busy, at: "s3://bucket/key", "it is busy", advice: "Wait.", retry: retry)
    }

    // MARK: - RetryPolicy

    @Test func waitsGrowAndAreSpread() {
        var random = SplitMix(seed: 6)
        let policy = RetryPolicy(attempts: 100)
        for attempt in [1, 2, 5, 9, 40, 99] {
            let room = min(Duration.seconds(300), .seconds(1) * (1 << min(attempt - 1, 20)))
            let delays = (0..<200).compactMap { _ in
                policy.delay(afterAttempt: attempt, error: error(.later), using: &random)
            }
            #expect(delays.count == 200)
            #expect(delays.allSatisfy { $0 >= .zero && $0 <= room })
            // Full jitter: delays are spread over the whole range.
            #expect(delays.contains { $0 < room / 10 } && delays.contains { $0 > room / 10 * 9 })
        }
    }

    @Test func itIsGivenUp() {
        var random = SplitMix(seed: 6)
        let policy = RetryPolicy()
        #expect(policy.delay(afterAttempt: 8, error: error(.later), using: &random) == nil)
        #expect(policy.delay(afterAttempt: 1, error: error(.never), using: &random) == nil)
        #expect(policy.delay(afterAttempt: 1, error: error(.after(.seconds(3601))), using: &random) == nil)
    }

    @Test func theReceiversWordIsKept() throws {
        var random = SplitMix(seed: 6)
        for _ in 0..<100 {
            let given = RetryPolicy().delay(afterAttempt: 3, error: error(.after(.seconds(60))), using: &random)
            let delay = try #require(given)
            #expect(delay >= .seconds(60) && delay <= .seconds(64))
        }
    }

    // MARK: - TokenBucket

    @Test func overTimeTheRateIsKept() {
        var bucket = TokenBucket(rate: 1_000_000, at: 0)
        var now: Int64 = 0
        var sent = 0
        while now < 10_000_000_000 {
            let (bytes, wait) = bucket.take(upTo: 16_384, at: now)
            #expect(bytes > 0 || wait > 0)
            sent += bytes
            now += bytes > 0 ? 10_000 : wait
        }
        // Ten seconds' worth, plus the tenth of a second that may be sent at once.
        #expect(abs(sent - 10_100_000) < 20_000)
    }

    @Test func aPauseGivesNoCredit() {
        var bucket = TokenBucket(rate: 1_000_000, at: 0)
        _ = bucket.take(upTo: 100_000, at: 0)
        #expect(bucket.take(upTo: 10_000_000, at: 3_600_000_000_000).bytes == 100_000)
        // A clock that stands still or goes back yields no bytes and does no harm.
        #expect(bucket.take(upTo: 10_000, at: 0).bytes == 0)
    }

    @Test func slowRatesAddUp() {
        var bucket = TokenBucket(rate: 1_000, at: 0)
        var sent = 0
        for millisecond in 0..<60_000 { sent += bucket.take(upTo: 4_096, at: Int64(millisecond) * 1_000_000).bytes }
        #expect((59_000...61_100).contains(sent))
    }

    // MARK: - PartPlan

    @Test(arguments: [
        0, 1, 64_000_000, 64_000_001, 16 << 20, 5_000_000_000, 20_000_000_000, 5_000_000_000_000,
    ]) func partsKeepToTheLimits(bytes: Int) {
        let ranges = PartPlan(bytes: bytes).ranges
        #expect(ranges.count <= 10_000)
        #expect(ranges.reduce(0) { $0 + $1.count } == bytes)
        #expect(zip(ranges, ranges.dropFirst()).allSatisfy { $0.upperBound == $1.lowerBound })
        #expect(ranges.dropLast().allSatisfy { $0.count >= 5 << 20 && $0.count == ranges.first?.count })
        #expect(ranges.allSatisfy { $0.count <= 5_000_000_000 })
        #expect((ranges.count == 1) == (bytes <= 64_000_000))
    }

    // MARK: - RemoteObject

    private let file = UploadFile(
        path: "/none", name: "a.zip", bytes: 3, sha256: SHA256.hash(data: Data("abc".utf8)).hexDigits)
    private var digests: FileDigests {
        let sha256 = SHA256.hash(data: Data("abc".utf8))
        let md5 = MD5.hash(data: Data("abc".utf8))
        return FileDigests(sha256: sha256, md5: md5, parts: [FileDigests.Part(range: 0..<3, sha256: sha256, md5: md5)])
    }

    private func verdict(_ fields: [String: String]) throws -> RemoteObject.Verdict {
        let response = HTTPResponse(
            status: 200, headers: fields.map { HTTPHeader($0, $1) }, body: [], hashed: nil, retryAfter: nil)
        return try RemoteObject(response, isAboutObject: true).verdict(on: file) { () throws(UploadError) in digests
        }
    }

    @Test func hashesInFieldsAreBelieved() throws {
        let base64 = Data(digests.sha256).base64EncodedString()
        #expect(try verdict(["x-amz-checksum-sha256": base64]) == .same(.sha256, checksum: base64))
        #expect(try verdict(["Repr-Digest": "sha-512=:eA==:, sha-256=:\(base64):"]) == .same(.sha256, checksum: base64))
        #expect(try verdict(["Digest": "SHA-256=\(base64)"]) == .same(.sha256, checksum: base64))
        let md5 = digests.md5.hexDigits
        #expect(try verdict(["Content-MD5": Data(digests.md5).base64EncodedString()]) == .same(.md5, checksum: md5))
        #expect(try verdict(["ETag": "\"\(md5)\""]) == .same(.md5, checksum: md5))
        let parts = "\(digests.partsMD5.hexDigits)-1"
        #expect(try verdict(["ETag": "\"\(parts)\""]) == .same(.partsMD5, checksum: parts))
        let partsSHA256 = "\(Data(digests.partsSHA256).base64EncodedString())-1"
        #expect(try verdict(["x-amz-checksum-sha256": partsSHA256]) == .same(.partsSHA256, checksum: partsSHA256))
    }

    @Test func anotherHashIsAnotherFile() throws {
        let other = Data(SHA256.hash(data: Data("abd".utf8))).base64EncodedString()
        for fields in [
            ["x-amz-checksum-sha256": other], ["Repr-Digest": "sha-256=:\(other):"], ["Content-Length": "4"],
            ["Content-MD5": Data(MD5.hash(data: Data("abd".utf8))).base64EncodedString()],
        ] {
            guard case .different = try verdict(fields) else { throw TestFailure("\(fields)") }
        }
    }

    @Test func whatIsNoHashProvesNothing() throws {
        let other = MD5.hash(data: Data("abd".utf8)).hexDigits
        for fields in [
            ["ETag": "\"65f0c1a2-3\""], ["ETag": "W/\"\(digests.md5.hexDigits)\""], ["ETag": "\"\(other)\""],
            ["Content-Length": "3"], ["Repr-Digest": "sha-256=:nonsense:"], [:],
            ["x-amz-checksum-sha256": "\(Data(digests.partsSHA256).base64EncodedString())-2"],
        ] { #expect(try verdict(fields) == .undecided) }
    }

    // MARK: - What S3 says

    private func refusal(_ status: Int, _ body: String, retryAfter: Duration? = nil) -> UploadError {
        let response = HTTPResponse(
            status: status, headers: [], body: Array(body.utf8), hashed: nil, retryAfter: retryAfter)
        return UploadError(s3: response, at: "s3://bucket/key")
    }

    @Test(arguments: [
        (503, "SlowDown", UploadError.Code.busy, UploadError.Retry.later),
        (500, "InternalError", .receiverFailed, .later),
        (400, "RequestTimeout", .busy, .later), (400, "BadDigest", .corrupted, .later),
        (403, "AccessDenied", .notPermitted, .never), (403, "RequestTimeTooSkewed", .notPermitted, .later),
        (400, "ExpiredToken", .notPermitted, .later), (404, "NoSuchBucket", .notFound, .never),
        (409, "OperationAborted", .busy, .later), (507, "XMinioStorageFull", .full, .later),
        (200, "InternalError", .receiverFailed, .later), (501, "NotImplemented", .refused, .never),
        (418, "Novelty", .refused, .never), (599, "Novelty", .receiverFailed, .later),
    ]) func codesDecide(status: Int, word: String, code: UploadError.Code, retry: UploadError.Retry) {
        let error = refusal(status, "<Error><Code>\(word)</Code><Message>m</Message></Error>")
        #expect(error.code == code && error.retry == retry)
        #expect(error.description.contains(word) && error.description.hasSuffix("."))
    }

    @Test func aBucketElsewhereIsNamed() {
        let body = "<Error><Code>AuthorizationHeaderMalformed</Code><Region>eu-north-1</Region></Error>"
        #expect(refusal(400, body).advice.contains("Set s3-region to eu-north-1"))
        #expect(refusal(301, "").code == .redirected)
        #expect(refusal(503, "", retryAfter: .seconds(9)).retry == .after(.seconds(9)))
    }

    // MARK: - XMLText

    @Test func listsAreRead() {
        let list = XMLText(
            """
            <?xml version="1.0"?><ListPartsResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Key>a&amp;lt;b</Key>
            <PartNumberMarker>0</PartNumberMarker><Owner/><Part><PartNumber>1</PartNumber><ETag>&quot;x&quot;</ETag></Part>
            <Part ><PartNumber>2</PartNumber></Part></ListPartsResult>
            """)
        #expect(list.first("Key") == "a&lt;b")
        #expect(list.all("Part").map { $0.first("PartNumber") } == ["1", "2"])
        #expect(list.all("Part").first?.first("ETag") == "\"x\"")
        #expect(list.first("Owner") == nil)
        for text in ["", "<", "<Part", "<Part>", "<Part/>", "no list", "</Part><Part>"] {
            #expect(XMLText(text).all("Part").isEmpty)
        }
    }

    /// In quadratic time, this would take hours.
    @Test(.timeLimit(.minutes(1)), arguments: ["", "/>"])
    func aListThatMakesNoSenseTakesNoTime(end: String) {
        #expect(XMLText(String(repeating: "<Error ", count: 500_000) + end).all("Error").isEmpty)
    }
}
