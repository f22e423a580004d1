import ConsoleCore
import Export
import Files
import Messages
import Recording
import Runtime
import SessionOverview
import SystemPackage
import WebServer

/// Answers the paths below `/api/sessions`: the sessions on disk.
struct SessionRoutes: Sendable {
    static let path = "/api/sessions"
    private let library: OwnThread<SessionLibrary>
    /// Threads that read streams for overviews, which takes 0.1 s for an hour of a stream; several streams at the same time.
    private let readers: [OwnThread<SessionLibrary>]
    /// Thread that verifies sessions and makes their reports, which takes as long as reading them.
    private let verifier: OwnThread<SessionLibrary>
    private let exporter: OwnThread<SessionExporter>

    init(in data: FilePath) throws {
        library = try OwnThread(name: "sessions", SessionLibrary(in: data))
        readers = try (0..<2).map { try OwnThread(name: "overviews \($0)", SessionLibrary(in: data)) }
        verifier = try OwnThread(name: "verify", SessionLibrary(in: data))
        exporter = try OwnThread(name: "export", SessionExporter(in: data))
    }

    /// Answers a request; nil if there is no such path.
    func answer(_ request: WebRequest) async -> WebResponse? {
        let parts = request.path.dropFirst(Self.path.count).split(separator: "/", omittingEmptySubsequences: false)
            .dropFirst().map(String.init)
        do {
            switch (request.method, parts.count, parts.count > 1 ? parts[1] : "") {
            case ("GET", 0, _), ("HEAD", 0, _): return try await list(request)
            case ("GET", 1, _), ("HEAD", 1, _):
                let details = try await library.run { (library) throws(RecordingError) in
                    WebResponse.json(try library.details(of: parts[0]))
                }
                return details
            case ("GET", 2, "overview"), ("HEAD", 2, "overview"): return try await overview(parts[0], request)
            case ("GET", 2, "report"), ("HEAD", 2, "report"): return try await report(parts[0])
            case ("POST", 2, "verify"): return try await verify(parts[0])
            case ("GET", 2, "export"): return try await export(parts[0], request)
            case ("GET", 3, "files"): return try await file(parts[2], of: parts[0])
            case ("POST", _, _): return .wrongMethod
            default: return nil
            }
        } catch {
            let (status, code): (UInt32, String) =
                switch error.code {
                case .notFound: (404, "unknownSession")
                case .invalidParameter: (400, "invalidParameter")
                case .unreadable: (409, "unreadable")
                case .noSpace: (503, "noSpace")
                default: (500, "inputOutput")
                }
            return .json(["error": ["code": code, "message": error.description]], status: status)
        }
    }

    private func list(_ request: WebRequest) async throws(RecordingError) -> WebResponse {
        let (search, after) = (request.arguments["search"], request.arguments["after"])
        return try await library.run { (library) throws(RecordingError) in
            .json(try library.list(search: search, after: after))
        }
    }

    private func overview(_ session: String, _ request: WebRequest) async throws(RecordingError) -> WebResponse {
        guard let stream = request.arguments["stream"].flatMap(StreamName.init), let range = PlotRange(request) else {
            return .refusal(400, "invalidParams", "write stream=DEVICE/STREAM, and from, to and columns as numbers")
        }
        // The same reader for each stream, since it caches what it has read.
        let reader = readers[stream.description.utf8.reduce(0) { $0 + Int($1) } % readers.count]
        return try await reader.run { (library) throws(RecordingError) in
            guard let (overview, start) = try library.overview(of: stream, in: session) else {
                return .refusal(404, "unknownStream", "the session has no stream of this name")
            }
            let origin = start.nanosecondsSince1970
            let part = overview.envelope.part(range.since(origin), columns: range.columns)
            return WebResponse(
                body: PlotText.json(
                    of: stream, fields: overview.fields, part, gaps: overview.gaps.map { ($0.from, $0.to) },
                    start: origin))
        }
    }

    private func report(_ session: String) async throws(RecordingError) -> WebResponse {
        try await verifier.run { (library) throws(RecordingError) in
            var page = WebResponse(
                type: "text/html; charset=utf-8",
                body: .bytes(Array(try SessionPage.html(of: library.directory(of: session)).utf8)))
            // The page has its own style, and nothing executable.
            page.headers = [("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; sandbox")]
            return page
        }
    }

    private func verify(_ session: String) async throws(RecordingError) -> WebResponse {
        try await verifier.run { (library) throws(RecordingError) in
            let verification = try library.directory(of: session).verify()
            return .json(
                Verification(
                    whole: verification.verdict == .whole, problems: verification.findings.map(\.description),
                    summary: verification.summary))
        }
    }

    private struct Verification: Encodable {
        var whole: Bool
        var problems: [String]
        var summary: String
    }

    private func export(_ session: String, _ request: WebRequest) async throws(RecordingError) -> WebResponse {
        let stream = request.arguments["stream"].flatMap(StreamName.init)
        // BIDS is a directory, which can't be downloaded as one file.
        guard let format = request.arguments["format"].flatMap(SessionExport.Format.init), format != .bids,
            (format == .csv) == (stream != nil), stream != nil || request.arguments["stream"] == nil
        else {
            return .refusal(
                400, "invalidParams", "write format=mcap or format=xdf, or format=csv and stream=DEVICE/STREAM")
        }
        let download = try await exporter.run { (exporter) throws(RecordingError) in
            try exporter.export(session, as: format, stream: stream)
        }
        guard let download else {
            return .refusal(
                503, "busy",
                "\(SessionExporter.maximumDownloads) exports are being downloaded: try again when one is complete")
        }
        return .download(download.file, count: download.count, name: download.name)
    }

    private func file(_ name: String, of session: String) async throws(RecordingError) -> WebResponse {
        guard
            let (file, count) = try await library.run({ (library) throws(RecordingError) in
                try library.open(name, of: session)
            })
        else { return .refusal(404, "notFound", "the session has no file of this name") }
        return .download(WebFile(file), count: count, name: name)
    }
}

extension WebResponse {
    /// A file for the browser to save under a name.
    fileprivate static func download(_ file: WebFile, count: Int, name: String) -> WebResponse {
        var response = WebResponse(type: "application/octet-stream", body: .file(file, count: count))
        let safe = name.unicodeScalars.map { $0.isASCII && $0 >= " " && $0 != "\"" && $0 != "\\" ? Character($0) : "_" }
        response.headers = [("Content-Disposition", "attachment; filename=\"\(String(safe))\"")]
        return response
    }
}

/// The time range and the number of columns of a plot, from a request.
struct PlotRange: Sendable {
    private static let maximumColumns = 4_000

    /// Nanoseconds since 1970.
    var from: Int64?
    var to: Int64?
    var columns = 800

    /// - Returns: nil if a parameter is invalid.
    init?(_ request: WebRequest) {
        func time(_ name: String) -> Int64?? {
            guard let text = request.arguments[name], !text.isEmpty else { return .some(nil) }
            guard let seconds = Double(text), seconds.magnitude < 9e9 else { return nil }
            return Int64(seconds * 1e9)
        }
        guard let from = time("from"), let to = time("to") else { return nil }
        (self.from, self.to) = (from, to)
        if let text = request.arguments["columns"], !text.isEmpty {
            guard let count = Int(text), count > 0 else { return nil }
            columns = min(count, Self.maximumColumns)
        }
    }

    /// The range relative to another origin; nil if unbounded.
    func since(_ origin: Int64) -> Range<Int64>? {
        if from == nil, to == nil { return nil }
        let lower = (from ?? -9_000_000_000_000_000_000).subtractingClamped(origin)
        let upper = (to ?? 9_000_000_000_000_000_000).subtractingClamped(origin)
        return lower..<max(lower, upper)
    }
}
