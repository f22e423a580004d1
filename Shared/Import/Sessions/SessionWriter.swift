import Files
import Glibc
import Messages
import Recording
import SystemPackage

/// Writes a file's content into a session, in a directory that gets the session's name when everything is durable.
///
/// The earlier name is not a session's name: readers do not see the remains after a kill, and the next import under the same name
/// removes them.
final class SessionWriter {
    /// The most gaps, runs and pauses: they are stored in the session's record.
    private static let maximumEvents = 100_000

    private let recordings: Directory
    private let directory: SessionDirectory
    /// Held while the session is made.
    private let lock: DirectoryLock
    private let options: SessionImport.Options
    private var record: SessionRecord
    private var streams: [StreamWriter] = []
    private var events = 0
    private var isFinished = false

    /// - Throws: `alreadyExists` for a name that is taken, `locked` while another program imports under this name,
    ///   `notPermitted` if the owner of `recordings/` cannot own the session.
    init(_ session: SessionIdentifier, _ options: SessionImport.Options) throws(RecordingError) {
        recordings = SessionDirectory.recordings(in: options.data)
        let isFirst = !recordings.exists
        try recordings.create()
        // If that is not permitted, the directory stays this user's.
        if isFirst { try? recordings.takeOwner(of: Directory(options.data)) }
        guard let lock = try DirectoryLock.take(session.text, in: recordings) else {
            throw RecordingError(
                .locked, action: "import session \(session)", path: recordings.path,
                reason: "another program is importing it", advice: "Wait for it, or choose another name with --session."
            )
        }
        self.lock = lock
        let path = recordings.path.appending(".\(session)~importing")
        directory = SessionDirectory(of: session, madeAt: path)
        self.options = options
        record = SessionRecord(
            session: session, task: options.task, step: "", streams: [], format: options.format, root: .array,
            status: .finished, startDate: WallTime(nanosecondsSince1970: 0),
            limits: SessionRecord.Limits(maximumFileSize: options.maximumFileSize))
        guard !recordings.contains(session.text) else { throw Self.exists(session, recordings) }
        if directory.directory.exists { try Directory.removeTree(path) }
        try directory.directory.createExclusively()
        try directory.directory.takeOwner(of: recordings)
    }

    deinit {
        // An incomplete session is removed.
        if !isFinished { try? Directory.removeTree(directory.directory.path) }
    }

    private static func exists(_ session: SessionIdentifier, _ recordings: Directory) -> RecordingError {
        RecordingError(
            .alreadyExists, action: "import session \(session)", path: recordings.path.appending(session.text),
            reason: "there is a session of this name", advice: "Choose another name with --session.")
    }

    // MARK: Decoded content

    func take(_ found: Decoded) throws(RecordingError) {
        switch found {
        case .streams(let streams, let start): try begin(streams, start)
        case .samples(let stream, let block): try streams[stream].append(block)
        case .record(let stream, let time, let values): try streams[stream].append(values, at: time)
        case .gap(let stream, let count, let reason):
            try countEvent()
            try streams[stream].lose(count, reason)
        case .duplicates(let stream, let count): streams[stream].leaveOut(duplicates: count)
        case .run(let run):
            try countEvent()
            for stream in streams { try stream.begin(run) }
        case .pause(let date):
            try countEvent()
            let time = try change(.pause, at: date)
            record.pauses.append(SessionRecord.Pause(from: Double(time) / 1e9))
        case .resume(let date):
            let time = try change(.resume, at: date)
            guard let last = record.pauses.indices.last else { return }
            record.pauses[last].to = Double(time) / 1e9
        case .failure(let sentence): record.note(failures: [sentence])
        }
    }

    private func countEvent() throws(RecordingError) {
        events += 1
        guard events <= Self.maximumEvents else {
            throw .notImported(
                "it has more than \(Self.maximumEvents) gaps and pauses",
                "Download the recording from the device again.")
        }
    }

    private func begin(_ found: [ImportedStream], _ start: Int64) throws(RecordingError) {
        // Stored times have microseconds.
        record.startDate = WallTime(nanosecondsSince1970: start.floorDivided(by: 1000).quotient * 1000)
        record.streams = found.map(\.name.description)
        var names: Set<String> = []
        for stream in found {
            let name = LogName(device: stream.name.device, stream: stream.name.stream, avoiding: names)
            names.insert(name.folded)
            streams.append(
                try StreamWriter(
                    stream, named: name, in: directory.directory, record, maximumFileSize: options.maximumFileSize))
        }
    }

    private func change(_ event: Marker.Event, at date: Int64) throws(RecordingError) -> Int64 {
        let time = max(0, date - record.startDate.nanosecondsSince1970)
        for stream in streams { try stream.change(event, at: time) }
        return time
    }

    // MARK: The end

    /// Gives the session its name. When this returns, the session is durable.
    /// - Parameter keys: the origin of the session.
    func finish(keys: JSONValue) throws(RecordingError) -> SessionReport {
        for stream in streams { try stream.formatRows() }
        let end = streams.map(\.lastTime).max() ?? 0
        for stream in streams { try stream.finish(at: end) }
        record.logs = streams.map(\.log)
        record.keys = keys
        record.endDate = WallTime(nanosecondsSince1970: record.startDate.nanosecondsSince1970 + end)
        let report = SessionReport(record)
        try directory.write(report)
        try directory.write(record)
        try directory.writeChecksums(known: record.logs.flatMap(\.files))
        try directory.directory.takeOwner(of: recordings)
        try directory.directory.sync()
        // rename(2) would replace an empty directory.
        let session = record.session
        guard !recordings.contains(session.text) else { throw Self.exists(session, recordings) }
        let name = directory.directory.path.lastComponent?.string ?? ""
        do throws(RecordingError) {
            try recordings.rename(name, to: session.text, calls: .system)
        } catch {
            throw recordings.contains(session.text) ? Self.exists(session, recordings) : error
        }
        isFinished = true
        try recordings.sync()
        return report
    }
}
