package import Files
import Messages
import Recording
package import SystemPackage

/// Holds the files of an export beside their destination; they get their final names once all are complete and durable.
///
/// If the program is killed, no incomplete file has a final name; the next export of the same name removes what is left.
package final class ExportDirectory {
    private let directory: Directory
    private let replaces: Bool
    private let calls: FileCalls
    private let beside: String
    /// Keeps out other exports of the same name.
    private let lock: OpenFile
    private var finished: [OutputFile.Written] = []
    /// The names of files shared by several exports.
    private var shared: Set<String> = []

    /// - Parameters:
    ///   - name: distinguishes exports to the same directory.
    ///   - replaces: whether existing files may be replaced.
    /// - Throws: `locked` if another program runs an export of the same name.
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
                .locked, action: "export to", path: path, reason: "another program is exporting the same there",
                advice: "Wait until it ends, or choose another directory.")
        }
        self.lock = lock
        for name in try place.names() where name != Self.lockName {
            try Directory.removeTree(place.path.appending(name))
        }
    }

    deinit {
        // Also after an error: incomplete files are of no use.
        try? Directory.removeTree(directory.path.appending(beside))
    }

    private static let lockName = "lock"

    /// Refuses the name of an existing file, unless files may be replaced.
    /// - Throws: `alreadyExists`.
    package func check(_ name: String) throws(RecordingError) {
        // A replacement that was interrupted is repeated first: its list of the former files is still needed.
        guard !replaces, !shared.contains(name),
            directory.contains(name) || directory.contains(Self.formerName(of: name))
        else { return }
        throw RecordingError(
            .alreadyExists, action: "export to", path: directory.path.appending(name), reason: "it exists already",
            advice: "Pass --replace to replace it, or choose another directory.")
    }

    /// Begins a file.
    /// - Parameter name: the file's path in the directory.
    package func create(_ name: String) throws(RecordingError) -> OutputFile {
        try check(name)
        let path = directory.path.appending(beside).appending(name)
        try Directory(path.removingLastComponent()).create()
        return try OutputFile(name, creating: path, calls: calls)
    }

    /// Finishes a file. `publish` gives it its final name.
    package func finish(_ file: OutputFile) throws(RecordingError) {
        finished.append(try file.finish())
    }

    /// Writes a small file.
    /// - Parameter isShared: whether several exports share this file. A shared file is always replaced.
    package func write(_ name: String, _ bytes: [UInt8], isShared: Bool = false) throws(RecordingError) {
        if isShared { shared.insert(name) }
        let file = try create(name)
        file.buffer.append(bytes)
        try finish(file)
    }

    /// The bytes of a file from an earlier export; `nil` if there is none.
    package func existing(_ name: String) throws(RecordingError) -> [UInt8]? {
        directory.contains(name) ? try directory.read(name) : nil
    }

    /// The finished files that only this export has, in order.
    package var written: [OutputFile.Written] { finished.filter { !shared.contains($0.name) } }

    /// The part of an export's provenance file that lists its files.
    private struct Outputs: Decodable {
        var outputs: [OutputFile.Written]
    }

    /// The files of the replaced export that this one does not have, if they are still as that export wrote them.
    ///
    /// A file that was changed since is no longer the export's, even if the list names it.
    /// - Parameter provenance: the name of the file that lists the replaced export's files.
    package func superseded(by provenance: String) -> Set<String> {
        // Without a readable list, it is unknown which files belong to the export.
        guard replaces, let bytes = (try? existing(provenance)) ?? (try? existing(Self.formerName(of: provenance))),
            let former = try? WireCoding.decode(Outputs.self, from: bytes)
        else { return [] }
        let kept = Set(finished.map(\.name)).union([provenance])
        var names: Set<String> = []
        for file in former.outputs {
            // Normalized, because somebody may have edited the list.
            let name = FilePath(file.name).string
            if !kept.contains(name), isUnchanged(file) { names.insert(name) }
        }
        return names
    }

    /// Whether a file lies in the directory, not behind a symbolic link, and still has the bytes that were written.
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

    /// The name of a replaced export's last file until the new export is complete.
    private static func formerName(of name: String) -> String { "\(name).replaced" }

    /// Gives the files their final names, the last file last: if that exists, all do.
    ///
    /// Removes the files of a replaced export that this one does not have.
    package func publish() throws(RecordingError) {
        guard let last = finished.last else { return }
        let former = Self.formerName(of: last.name)
        if replaces {
            // It lists the files removed next. It is kept until the end: after a kill, the next export needs the list.
            if directory.contains(last.name) { try directory.rename(last.name, to: former, calls: calls) }
            for name in superseded(by: last.name) { try Directory.removeFile(directory.path.appending(name)) }
        }
        var parents: Set<FilePath> = []
        for file in finished {
            let parent = directory.path.appending(file.name).removingLastComponent()
            if parents.insert(parent).inserted { try Directory(parent).create() }
            if file.name == last.name { for parent in parents { try Directory(parent).sync(calls: calls) } }
            try Directory(directory.path).rename("\(beside)/\(file.name)", to: file.name, calls: calls)
        }
        try Directory(directory.path.appending(last.name).removingLastComponent()).sync(calls: calls)
        if replaces, directory.contains(former) { try Directory.removeFile(directory.path.appending(former)) }
        finished = []
    }
}
