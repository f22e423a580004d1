import FoundationEssentials
import Glibc
package import SystemPackage
package import ZeroMQ

/// The directory with a program's keys: `<name>.key` is public, `<name>.key_secret` only for its owner. Every `<name>.key` is
/// on the allow-list.
package struct KeyDirectory: Hashable, Sendable {
    package let path: FilePath

    /// In bytes; more than a certificate needs.
    private static let maximumFileSize = 1 << 16
    /// More clients than a program can serve.
    private static let maximumKeys = 10_000
    private static let writableByOthers: FilePermissions = [.groupWrite, .otherWrite]

    /// The directory need not exist.
    package init(_ path: FilePath) { self.path = path }

    /// The path of a key's public half.
    package func publicFile(of name: String) -> FilePath { path.appending("\(name).key") }
    /// The path of a key's file with both halves.
    package func secretFile(of name: String) -> FilePath { path.appending("\(name).key_secret") }

    /// Both halves of a key.
    /// - Throws: `ServiceError` (bad configuration), also if anybody but the owner can read the file.
    package func pair(of name: String) throws(ServiceError) -> CurveKeyPair {
        let path = secretFile(of: name)
        let file = try read(path)
        // A file that an orchestrator provides through a group has another owner.
        let isOpenToGroup = file.isOurs && !file.permissions.isDisjoint(with: .groupReadWriteExecute)
        guard !file.isOpenToOthers, !isOpenToGroup else {
            throw Self.bad(path, "others can read it: chmod 600 \(path), and make a new key if others may have read it")
        }
        guard let pair = try Self.certificate(in: file, at: path).pair else {
            throw Self.bad(path, "it has no secret-key under curve")
        }
        if Self.exists(publicFile(of: name)), try publicKey(of: name) != pair.publicKey {
            throw Self.bad(path, "it does not match \(publicFile(of: name)): remove one of them")
        }
        return pair
    }

    /// The public half of a key.
    /// - Throws: `ServiceError` (bad configuration).
    package func publicKey(of name: String) throws(ServiceError) -> CurveKey {
        let path = publicFile(of: name)
        return try Self.certificate(in: read(path), at: path).publicKey
    }

    /// The list of the keys in the directory, with the problems of single keys.
    /// - Throws: `ServiceError` (bad configuration) if the directory can't be read, or if others can put keys into it.
    package func allowList() throws(ServiceError) -> AllowList {
        let names = try names()
        var list = AllowList()
        guard names.count <= Self.maximumKeys else {
            throw Self.bad(path, "it has \(names.count) keys, and at most \(Self.maximumKeys) are read")
        }
        let isReadOnly = try requireSafe()
        for name in names {
            let path = publicFile(of: name)
            do throws(ServiceError) {
                let file = try read(path)
                guard file.permissions.isDisjoint(with: Self.writableByOthers) || isReadOnly else {
                    throw Self.bad(path, "others can change it: chmod 644 \(path)")
                }
                list.add(try Self.certificate(in: file, at: path), of: name)
            } catch {
                list.note(error.message)
            }
        }
        return list
    }

    /// Whether the directory does not exist. False if that can't be determined.
    var isGone: Bool {
        do {
            _ = try path.stat()
            return false
        } catch {
            return error == .noSuchFileOrDirectory || error == .notDirectory
        }
    }

    /// The names of the keys in the directory, sorted.
    package func names() throws(ServiceError) -> [String] {
        do {
            return try FileManager.default.contentsOfDirectory(atPath: path.string)
                .filter { $0.hasSuffix(".key") && !$0.hasPrefix(".") }.map { String($0.dropLast(4)) }.sorted()
        } catch {
            throw Self.bad(path, "the directory of keys can't be read: make one with holdfast-keys make \(path)")
        }
    }

    /// The state of the directory and its keys, which differs after any change; nil if it can't be read.
    func fingerprint() -> [KeyFileState]? {
        guard let names = try? names(), let directory = KeyFileState(path) else { return nil }
        return [directory] + names.compactMap { KeyFileState(publicFile(of: $0)) }
    }

    /// Refuses a directory into which anybody but its owner can put keys.
    /// - Returns: whether its file system is read-only.
    private func requireSafe() throws(ServiceError) -> Bool {
        var system = statvfs()
        let isReadOnly = statvfs(path.string, &system) == 0 && system.f_flag & UInt(ST_RDONLY) != 0
        guard let status = try? path.stat() else { throw Self.bad(path, "it can't be looked at") }
        guard status.permissions.isDisjoint(with: Self.writableByOthers) || isReadOnly else {
            throw Self.bad(path, "others can put keys into it: chmod 700 \(path)")
        }
        return isReadOnly
    }

    private func read(_ path: FilePath) throws(ServiceError) -> SmallFile {
        do {
            let file = try SmallFile(path, limit: Self.maximumFileSize)
            guard file.bytes.count <= Self.maximumFileSize else { throw Errno.fileTooLarge }
            return file
        } catch {
            let advice =
                error as? Errno == .noSuchFileOrDirectory ? ": make it with holdfast-keys, or copy it here" : ""
            throw Self.bad(path, "\(error)\(advice)")
        }
    }

    private static func certificate(in file: SmallFile, at path: FilePath) throws(ServiceError) -> KeyCertificate {
        guard let text = String(validating: file.bytes, as: UTF8.self) else { throw bad(path, "it is not text") }
        do {
            return try KeyCertificate(text: text)
        } catch {
            throw bad(path, error.description)
        }
    }

    static func exists(_ path: FilePath) -> Bool { access(path.string, F_OK) == 0 }

    static func bad(_ path: FilePath, _ reason: String) -> ServiceError {
        ServiceError(.badConfiguration, "\(path): \(reason)")
    }
}
