package import Files
import Messages
import Recording
package import SystemPackage

/// Where the files of one export come to be: beside their place, each under its final name once all are whole and durable.
///
/// A program that is killed leaves no half file under a final name; what it left beside is removed by the next export of the
/// same.
package final class ExportDirectory {
    private let directory: Directory
    private let replaces: Bool
    private let calls: FileCalls
    private let beside: String
    /// Keeps other exports of the same away.
    private let lock: OpenFile
    private var finished: [OutputFile.Written] = []
    /// The names of files that several exports share.
    private var shared: Set<String> = []

    /// - Parameters:
    ///   - name: tells exports to the same directory apart.
    ///   - replaces: whether files that exist may be replaced.
    /// - Throws: `locked` while another program exports the same.
    package init(
        _ path: FilePath, name: String, replaces: Bool, calls: FileCalls = .system
    ) throws(RecordingError) {
        directory = Directory(path)
        self.replaces = replaces
        self.calls = calls
        beside = Directory.temporaryName(for: name)
        try directory.create()
        let place = Directory(path.appending(beside))
        try place.create()
        guard let lock = try OpenFile.lock(place.path.appending(Self.lockName)) else {
            throw RecordingError(
                .locked, action: "export to", path: path, reason: "another program exports the same there",
                advice: "Wait for its end, or choose another directory.")
        }
        self.lock = lock
        for name in try place.names() where name != Self.lockName {
            try Directory.removeTree(place.path.appending(name))
        }
    }

    deinit {
        // Also after an error: what is there then is of no use.
        try? Directory.removeTree(directory.path.appending(beside))
    }

    private static let lockName = "lock"

    /// Refuses a name that is taken, if files are not to be replaced.
    package func check(_ name: String) throws(RecordingError) {
        guard !replaces, !shared.contains(name), directory.contains(name) else { return }
        throw RecordingError(
            .alreadyExists, action: "export to", path: directory.path.appending(name), reason: "it exists already",
            advice: "Say --replace to replace it, or choose another directory.")
    }

    /// Begins a file.
    /// - Parameter name: its path in the directory.
    package func create(_ name: String) throws(RecordingError) -> OutputFile {
        try check(name)
        let path = directory.path.appending(beside).appending(name)
        try Directory(path.removingLastComponent()).create()
        return try OutputFile(name, creating: path, calls: calls)
    }

    /// Ends a file. It gets its name with all others.
    package func finish(_ file: OutputFile) throws(RecordingError) {
        finished.append(try file.finish())
    }

    /// Writes a small file at once.
    /// - Parameter isShared: whether several exports have this file: then it is replaced always.
    package func write(_ name: String, _ bytes: [UInt8], isShared: Bool = false) throws(RecordingError) {
        if isShared { shared.insert(name) }
        let file = try create(name)
        file.buffer.append(bytes)
        try finish(file)
    }

    /// The bytes of a file that an earlier export left; `nil` if there is none.
    package func existing(_ name: String) throws(RecordingError) -> [UInt8]? {
        directory.contains(name) ? try directory.read(name) : nil
    }

    /// The files that are finished and this export's alone, in their order.
    package var written: [OutputFile.Written] { finished.filter { !shared.contains($0.name) } }

    /// The part of an export's provenance that lists its files.
    private struct Outputs: Decodable {
        var outputs: [OutputFile.Written]
    }

    /// The files of the export that is replaced which this one does not have: those that are as that export wrote them.
    ///
    /// Others are somebody else's by now, also if the list names them.
    /// - Parameter provenance: the name of the file that lists them.
    package func superseded(by provenance: String) -> Set<String> {
        // Without a list that can be read, nothing says which files are the export's.
        guard replaces, let bytes = try? existing(provenance),
            let former = try? WireCoding.decode(Outputs.self, from: bytes)
        else { return [] }
        let kept = Set(finished.map(\.name)).union([provenance])
        var names: Set<String> = []
        for file in former.outputs {
            // As the program writes it: somebody may have edited the list.
            let name = FilePath(file.name).string
            if !kept.contains(name), isUnchanged(file) { names.insert(name) }
        }
        return names
    }

    /// Whether a file lies in the directory, not behind a symbolic link, and has the bytes that were written.
    private func isUnchanged(_ file: OutputFile.Written) -> Bool {
        let name = FilePath(file.name)
        guard name.isRelative, name.components.allSatisfy({ $0.kind == .regular }) else { return false }
        var path = directory.path
        for component in name.components {
            guard (try? path.stat(followTargetSymlink: path == directory.path).type) == .directory else { return false }
            path.append(component)
        }
        guard (try? path.stat(followTargetSymlink: false).type) == .regular,
            let found = try? FinishedFile.measure(path)
        else { return false }
        return found.bytes == file.bytes && found.sha256 == file.sha256
    }

    /// Gives the files their names, the last one last: if it is there, all are.
    ///
    /// If it replaces an export, what that one has and this one has not is removed.
    package func publish() throws(RecordingError) {
        guard let last = finished.last else { return }
        if replaces, directory.contains(last.name) {
            let superseded = superseded(by: last.name)
            // It describes the files that go now.
            try Directory.removeFile(directory.path.appending(last.name))
            for name in superseded { try Directory.removeFile(directory.path.appending(name)) }
        }
        var parents: Set<FilePath> = []
        for file in finished {
            let parent = directory.path.appending(file.name).removingLastComponent()
            if parents.insert(parent).inserted { try Directory(parent).create() }
            if file.name == last.name { for parent in parents { try Directory(parent).sync(calls: calls) } }
            try Directory(directory.path).rename("\(beside)/\(file.name)", to: file.name, calls: calls)
        }
        try Directory(directory.path.appending(last.name).removingLastComponent()).sync(calls: calls)
        finished = []
    }
}
