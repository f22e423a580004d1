import Files
import FoundationEssentials
import Recording

/// Uploads a file to S3 in parts. Parts that exist from an earlier attempt, even by a killed program, are not sent again.
///
/// An upload that was never completed remains at the receiver and costs money. This program does not remove it, because it may
/// belong to another archiver. A rule of the bucket should (`AbortIncompleteMultipartUpload`).
struct S3MultipartUpload {
    let store: S3Store
    let source: SourceFile
    let connection: HTTPConnection
    let throttle: UploadThrottle

    private var file: UploadFile { source.archive }
    private var key: String { store.key(of: file.name) }
    private var location: String { store.location(of: file.name) }

    /// A part at the receiver.
    private struct StoredPart {
        let entityTag: String
        let bytes: Int?
        let sha256: String?

        /// Whether the stored part equals this part of the file.
        func isSame(as part: FileDigests.Part) -> Bool {
            guard bytes == part.range.count else { return false }
            if let sha256 { return sha256 == Data(part.sha256).base64EncodedString() }
            return entityTag.filter { $0 != "\"" }.lowercased() == part.md5.hexDigits
        }
    }

    /// Sends the missing parts and completes the object.
    /// - Returns: the receiver's description of the object; `nil` if an object of this name already exists.
    func run() throws(UploadError) -> RemoteObject? {
        let parts = try source.digests(throttle).parts
        var there: [Int: StoredPart] = [:]
        let identifier: String
        if let found = try existing() {
            identifier = found
            there = try storedParts(of: found)
        } else {
            identifier = try begin()
        }
        store.begun[key] = identifier
        var complete: [StoredPart] = []
        for (index, part) in parts.enumerated() {
            if let stored = there[index + 1], stored.isSame(as: part) {
                complete.append(stored)
            } else {
                complete.append(try send(part, number: index + 1, of: identifier))
            }
        }
        return try finish(complete, identifier)
    }

    // MARK: - Requests

    /// The most recent unfinished upload for this key, by any program.
    private func existing() throws(UploadError) -> String? {
        if let begun = store.begun[key] { return begun }
        let response = try ask(
            "GET", key: "", query: [("prefix", key), ("uploads", nil)])
        // Without permission to list uploads, a new one is started.
        guard try isDone(response, orAnyOf: [400, 403, 404, 405, 501]) else { return nil }
        return XMLText(response.text).all("Upload")
            .filter { $0.first("Key") == key }
            .max { $0.first("Initiated") ?? "" < $1.first("Initiated") ?? "" }?
            .first("UploadId")
    }

    private func begin() throws(UploadError) -> String {
        let response = try ask(
            "POST", query: [("uploads", nil)],
            headers: [
                HTTPHeader("content-type", "application/octet-stream"),
                HTTPHeader("x-amz-checksum-algorithm", "SHA256"),
            ])
        _ = try isDone(response)
        guard let identifier = XMLText(response.text).first("UploadId") else {
            throw unexpected("it began an upload without an UploadId")
        }
        return identifier
    }

    private func storedParts(of identifier: String) throws(UploadError) -> [Int: StoredPart] {
        var parts: [Int: StoredPart] = [:]
        var marker: String?
        // 10,000 parts are 10 pages; another page indicates a receiver that repeats itself.
        for _ in 0..<11 {
            var query: [(String, String?)] = [("uploadId", identifier)]
            if let marker { query.append(("part-number-marker", marker)) }
            let response = try ask("GET", query: query)
            guard try isDone(response, orAnyOf: [403, 405, 501]) else { return [:] }
            let list = XMLText(response.text)
            for part in list.all("Part") {
                guard let number = part.first("PartNumber").flatMap({ Int($0) }), let tag = part.first("ETag") else {
                    continue
                }
                parts[number] = StoredPart(
                    entityTag: tag, bytes: part.first("Size").flatMap { Int($0) }, sha256: part.first("ChecksumSHA256"))
            }
            marker = list.first("NextPartNumberMarker")
            guard list.first("IsTruncated") == "true", marker != nil else { break }
        }
        return parts
    }

    private func send(
        _ part: FileDigests.Part, number: Int, of identifier: String
    ) throws(UploadError) -> StoredPart {
        let response = try ask(
            "PUT", query: [("partNumber", "\(number)"), ("uploadId", identifier)],
            headers: S3Store.headers(of: part.sha256), body: .file(source, part.range),
            payload: part.sha256.hexDigits)
        _ = try isDone(response)
        guard let tag = response.headers["etag"] else { throw unexpected("it took a part and gave no ETag") }
        // Checksums are sent back only to receivers that store them.
        return StoredPart(
            entityTag: tag, bytes: part.range.count, sha256: response.headers["x-amz-checksum-sha256"])
    }

    private func finish(_ parts: [StoredPart], _ identifier: String) throws(UploadError) -> RemoteObject? {
        var body = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
        for (index, part) in parts.enumerated() {
            body += "<Part><PartNumber>\(index + 1)</PartNumber><ETag>\(XMLText.escaped(part.entityTag))</ETag>"
            if let sha256 = part.sha256 { body += "<ChecksumSHA256>\(XMLText.escaped(sha256))</ChecksumSHA256>" }
            body += "</Part>"
        }
        body += "</CompleteMultipartUpload>"
        let response = try ask(
            "POST", query: [("uploadId", identifier)],
            headers: [HTTPHeader("content-type", "application/xml"), HTTPHeader("if-none-match", "*")],
            body: .bytes(Array(body.utf8)))
        if response.status == 412 {
            // Another object has the name, so the uploaded parts are useless.
            _ = try? ask("DELETE", query: [("uploadId", identifier)])
            store.begun[key] = nil
            return nil
        }
        _ = try isDone(response)
        store.begun[key] = nil
        let result = XMLText(response.text)
        var statement = RemoteObject()
        statement.takeAmazon(result.first("ChecksumSHA256"))
        statement.takeEntityTag(result.first("ETag"))
        return statement
    }

    private func ask(
        _ method: String, key: String? = nil, query: [(String, String?)], headers: [HTTPHeader] = [],
        body: HTTPRequest.Body = .none, payload: String? = nil
    ) throws(UploadError) -> HTTPResponse {
        let request = try store.request(
            method, key: key ?? self.key, query: query, headers: headers, body: body, payload: payload, for: file.name)
        return try connection.answer(to: request, throttle, at: location)
    }

    /// Whether the request succeeded: S3 starts some responses before it has a result, so an error may have status 200.
    private func isDone(
        _ response: HTTPResponse, orAnyOf allowed: Set<Int> = []
    ) throws(UploadError) -> Bool {
        let failure = XMLText(response.text).all("Error").first
        if response.isSuccess, failure == nil { return true }
        if allowed.contains(response.status), failure?.first("Code") != "NoSuchUpload" { return false }
        if failure?.first("Code") == "NoSuchUpload" { store.begun[key] = nil }
        throw store.refusal(response, of: file.name)
    }

    private func unexpected(_ reason: String) -> UploadError {
        UploadError(
            .receiverFailed, at: location, "the receiver's answer makes no sense: \(reason)",
            advice: "Check whether s3-endpoint speaks S3. The upload will be retried.", retry: .later)
    }
}
