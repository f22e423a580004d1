/// The media types in an archive's manifest, by file extension.
package enum ContentType {
    package static let json = "application/json"
    static let text = "text/plain"

    package static func of(_ name: String) -> String {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else {
            return name == "SHA256SUMS" ? text : unknown
        }
        let ending = name[name.index(after: dot)...].lowercased()
        return types[ending] ?? LogFormat(rawValue: ending)?.formatter?.contentType ?? unknown
    }

    private static let unknown = "application/octet-stream"
    private static let types = [
        "csv": "text/csv", "html": "text/html", "jpg": "image/jpeg", "json": json, "m4a": "audio/mp4",
        "ndjson": "application/x-ndjson", "png": "image/png", "tsv": "text/tab-separated-values", "txt": text,
    ]
}
