import Hashing

/// A request in progress: supplies its body and takes the response. Used by one thread.
final class HTTPTransfer {
    private let request: HTTPRequest
    private let throttle: UploadThrottle
    private var position = 0
    private var status = 0
    private var headers: [HTTPHeader] = []
    private var body: [UInt8] = []
    private var hash = SHA256()
    private var hashedCount = 0

    private(set) var failure: UploadError?

    /// Kept responses are errors and lists of at most 1,000 parts, each well under 1 KB.
    private static let longestBody = 4 << 20
    private static let mostHeaders = 256

    init(_ request: HTTPRequest, throttle: UploadThrottle) {
        self.request = request
        self.throttle = throttle
    }

    var isCancelled: Bool { throttle.isCancelled }

    /// Provides the next bytes to send.
    /// - Returns: the number of bytes, 0 at the end; `nil` to end the transfer.
    func fill(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        let rest = request.body.count - position
        if rest == 0 { return 0 }
        let allowed = throttle.allowance(upTo: min(rest, buffer.count))
        if allowed == 0 { return nil }
        switch request.body {
        case .none: return 0
        case .bytes(let bytes): buffer.copyBytes(from: bytes[position..<position + allowed])
        case .file(let source, let range):
            do throws(UploadError) {
                let piece = UnsafeMutableRawBufferPointer(rebasing: buffer[..<allowed])
                let count = try source.read(into: piece, at: range.lowerBound + position)
                position += count
                return count
            } catch {
                failure = error
                return nil
            }
        }
        position += allowed
        return allowed
    }

    /// Moves to an offset in the body that must be sent again.
    func seek(to offset: Int) -> Bool {
        guard (0...request.body.count).contains(offset) else { return false }
        position = offset
        return true
    }

    /// Takes a line of the response header.
    func take(headerLine line: UnsafeRawBufferPointer) {
        let text = String(decoding: line, as: UTF8.self)
        if text.hasPrefix("HTTP/") {
            // The first line of a response, which may follow a response with status 100.
            status = text.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
            headers = []
        } else if let colon = text.firstIndex(of: ":"), headers.count < Self.mostHeaders {
            headers.append(HTTPHeader(String(text[..<colon]), String(text[text.index(after: colon)...].trimmed)))
        }
    }

    /// Takes a piece of the response body.
    /// - Returns: whether to continue.
    func take(_ piece: UnsafeRawBufferPointer) -> Bool {
        if let limit = request.hashedBytes, (200..<300).contains(status) {
            hash.update(bufferPointer: piece)
            hashedCount += piece.count
            // One byte above the limit proves a different file, so the rest is not needed.
            return hashedCount <= limit
        }
        body += piece.prefix(Self.longestBody - body.count)
        return body.count < Self.longestBody
    }

    func response(retryAfterSeconds: Int) -> HTTPResponse {
        HTTPResponse(
            status: status, headers: headers, body: body,
            hashed: request.hashedBytes == nil || !(200..<300).contains(status)
                ? nil : (hashedCount, hash.finalize()),
            retryAfter: retryAfterSeconds > 0 ? .seconds(retryAfterSeconds) : nil)
    }

    /// Whether the transfer ended because the response exceeded its limit, which is a sufficient answer.
    var hasTooMuch: Bool { hashedCount > request.hashedBytes ?? .max }
}
