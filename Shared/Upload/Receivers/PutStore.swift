import FoundationEssentials
import ServiceKit
import SystemPackage

/// A server that accepts files by PUT: WebDAV, a gateway, storage with signed URLs.
///
/// `If-None-Match: *` prevents replacing a file (RFC 9110, 13.1.2), and `Repr-Digest` contains the hash (RFC 9530). Servers that
/// support neither ignore them. Uploads are not resumed: `Content-Range` in a PUT requires a private agreement (RFC 9110, 14.5),
/// and a server without one would keep a piece as the whole file. An interrupted upload starts over, even if the server wrote the
/// first bytes under the file's name.
struct PutStore: ObjectStore {
    let template: WebTemplate
    /// Header fields for every request; `nil` for none. Read before each request, so that keys can be changed while the program
    /// runs.
    let headerFile: FilePath?

    var keepsFragments: Bool { true }

    func location(of name: String) -> String { "\(template.address(of: name))" }

    func request(_ method: String, _ name: String) throws(UploadError) -> HTTPRequest {
        var headers = [HTTPHeader("want-repr-digest", "sha-256=10")]
        if let headerFile {
            do throws(InvalidValue) {
                headers += try Self.headers(in: headerFile)
            } catch {
                throw UploadError(
                    .badConfiguration, at: location(of: name), "\(error)",
                    advice: "Correct it. The upload will be retried.", retry: .later)
            }
        }
        return HTTPRequest(method: method, address: template.address(of: name), headers: headers)
    }

    func put(
        _ source: SourceFile, replacing fragment: RemoteObject?, over connection: HTTPConnection,
        _ throttle: UploadThrottle
    ) throws(UploadError) -> RemoteObject? {
        let file = source.archive
        var request = try request("PUT", file.name)
        // Fields from the user's file take precedence.
        var ours = [
            HTTPHeader("content-type", "application/octet-stream"),
            HTTPHeader("repr-digest", "sha-256=:\(Data(file.sha256Bytes).base64EncodedString()):"),
        ]
        if let fragment {
            if let tag = fragment.strongTag { ours.append(HTTPHeader("if-match", tag)) }
        } else {
            ours.append(HTTPHeader("if-none-match", "*"))
        }
        request.headers += ours.filter { request.headers[$0.name] == nil }
        request.body = .file(source, 0..<file.bytes)
        let response = try connection.answer(to: request, throttle, at: location(of: file.name))
        if response.status == 412 { return nil }
        guard response.isSuccess else { throw refusal(response, of: file.name) }
        return RemoteObject(response, isAboutObject: false)
    }

    func refusal(_ response: HTTPResponse, of name: String) -> UploadError {
        let elsewhere = response.headers["location"].flatMap { try? WebAddress(typed: $0) }
        return UploadError(response, at: location(of: name), detail: elsewhere.map { "it sends us to \($0)" })
    }

    /// Reads header fields from a file with lines of the form `Name: value`.
    /// - Throws: `InvalidValue` with the file's name and no values.
    static func headers(in path: FilePath) throws(InvalidValue) -> [HTTPHeader] {
        var headers: [HTTPHeader] = []
        for line in try SecretFile.lines(of: path) {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2, !parts[0].isEmpty, parts[0].allSatisfy({ $0.isASCII && !$0.isWhitespace }) else {
                throw InvalidValue("\(path) has a line that is not a field: write Authorization: Bearer …")
            }
            headers.append(HTTPHeader(String(parts[0]), String(parts[1].trimmed)))
        }
        return headers
    }
}
