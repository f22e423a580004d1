package import Files
import Messages
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

    /// Gives the files their names, the last one last: if it is there, all are.
    package func publish() throws(RecordingError) {
        guard let last = finished.last else { return }
        if replaces, directory.contains(last.name) {
            // It describes the files that go now.
            try Directory.removeFile(directory.path.appending(last.name))
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
