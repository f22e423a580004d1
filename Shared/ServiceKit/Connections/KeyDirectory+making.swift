import Glibc
package import Messages
import SystemPackage
import ZeroMQ

/// Creates keys. Existing files are never overwritten, and a file exists completely or not at all, even after a power cut.
extension KeyDirectory {
    /// The result of `make`.
    package enum Outcome: Hashable, Sendable {
        /// The key existed.
        case kept
        /// The key was created.
        case made
        /// The secret half existed, and the public one was created from it.
        case completed
    }

    /// Creates the directory, accessible only to its owner, if it does not exist.
    /// - Throws: `ServiceError` (I/O).
    package func create() throws(ServiceError) {
        guard mkdir(path.string, 0o700) != 0 else {
            return try attempt("make", path) { try Self.sync(path.removingLastComponent()) }
        }
        guard errno != EEXIST else { return }
        throw ServiceError(.inputOutput, "\(path) can't be made: \(Errno(rawValue: errno))")
    }

    /// Creates a key if it is missing.
    /// - Throws: `ServiceError`: I/O, or bad configuration if only the public file exists, or the two files do not match.
    package func make(_ name: String, role: Role) throws(ServiceError) -> Outcome {
        let secretExists = Self.exists(secretFile(of: name))
        if Self.exists(publicFile(of: name)) {
            guard secretExists else {
                throw Self.bad(
                    publicFile(of: name),
                    "it exists without \(secretFile(of: name)): restore that file, or remove this one")
            }
            _ = try pair(of: name)
            return .kept
        }
        let keys: CurveKeyPair
        if secretExists {
            keys = try pair(of: name)
        } else {
            do {
                keys = try .generate()
            } catch {
                throw ServiceError(.inputOutput, "no key can be made: \(error)")
            }
        }
        let certificate = KeyCertificate(publicKey: keys.publicKey, pair: keys, role: role)
        // The secret half first: if the program is interrupted between the two, the public one can be created from it.
        if !secretExists {
            try write(certificate.secretText, to: secretFile(of: name), permissions: .ownerReadWrite)
        }
        try add(KeyCertificate(publicKey: keys.publicKey, role: role), as: name)
        return secretExists ? .completed : .made
    }

    /// Adds a key to the list whose secret half is held elsewhere.
    /// - Throws: `ServiceError` (I/O), also if a key of this name exists.
    package func add(_ certificate: KeyCertificate, as name: String) throws(ServiceError) {
        try write(
            certificate.publicText, to: publicFile(of: name), permissions: [.ownerReadWrite, .groupRead, .otherRead])
    }

    private func write(_ text: String, to file: FilePath, permissions: FilePermissions) throws(ServiceError) {
        // The name contains this process's id; a file that a killed process left under it may be deleted.
        let temporary = path.appending(".new-\(getpid())")
        try attempt("write", file) {
            unlink(temporary.string)
            let descriptor = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: permissions)
            defer { unlink(temporary.string) }
            try descriptor.closeAfter {
                // Independent of the umask.
                guard fchmod(descriptor.rawValue, permissions.rawValue) == 0 else { throw Errno(rawValue: errno) }
                try descriptor.writeAll(text.utf8)
                guard fsync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
            // A rename would replace a file that another process created in the meantime.
            guard link(temporary.string, file.string) == 0 else { throw Errno(rawValue: errno) }
            try Self.sync(path)
        }
    }

    private func attempt(_ what: String, _ file: FilePath, _ body: () throws -> Void) throws(ServiceError) {
        do { try body() } catch { throw ServiceError(.inputOutput, "\(file): can't \(what) it: \(error)") }
    }

    private static func sync(_ directory: FilePath) throws {
        let descriptor = try FileDescriptor.open(directory.isEmpty ? "." : directory, .readOnly, options: .closeOnExec)
        try descriptor.closeAfter {
            guard fsync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
        }
    }
}
