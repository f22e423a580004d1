import Glibc
package import Messages
import SystemPackage
import ZeroMQ

/// Makes keys. What is there is never overwritten, and a file is there whole or not at all, also after a power cut.
extension KeyDirectory {
    /// What `make` did about a key.
    package enum Outcome: Hashable, Sendable {
        /// It was there.
        case kept
        /// It was made.
        case made
        /// Its secret half was there, and the public one was missing.
        case completed
    }

    /// Makes the directory, for its owner alone, if it is not there.
    /// - Throws: `ServiceError` (I/O).
    package func create() throws(ServiceError) {
        guard mkdir(path.string, 0o700) != 0 else {
            return try attempt("make", path) { try Self.sync(path.removingLastComponent()) }
        }
        guard errno != EEXIST else { return }
        throw ServiceError(.inputOutput, "\(path) can't be made: \(Errno(rawValue: errno))")
    }

    /// Makes a key if it is missing.
    /// - Throws: `ServiceError`: I/O, or bad configuration if one of both files is there and does not fit.
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
        // The secret half first: the public one can be made from it, should this end between the two.
        if !secretExists {
            try write(certificate.secretText, to: secretFile(of: name), permissions: .ownerReadWrite)
        }
        try add(KeyCertificate(publicKey: keys.publicKey, role: role), as: name)
        return secretExists ? .completed : .made
    }

    /// Puts a key on the list whose secret half somebody else has.
    /// - Throws: `ServiceError` (I/O), also if there is a key of this name.
    package func add(_ certificate: KeyCertificate, as name: String) throws(ServiceError) {
        try write(
            certificate.publicText, to: publicFile(of: name), permissions: [.ownerReadWrite, .groupRead, .otherRead])
    }

    private func write(_ text: String, to file: FilePath, permissions: FilePermissions) throws(ServiceError) {
        // The name is this process's own, and what a killed one left under it may go.
        let temporary = path.appending(".new-\(getpid())")
        try attempt("write", file) {
            unlink(temporary.string)
            let descriptor = try FileDescriptor.open(
                temporary, .writeOnly, options: [.create, .exclusiveCreate, .closeOnExec], permissions: permissions)
            defer { unlink(temporary.string) }
            try descriptor.closeAfter {
                // Whatever the umask took away.
                guard fchmod(descriptor.rawValue, permissions.rawValue) == 0 else { throw Errno(rawValue: errno) }
                try descriptor.writeAll(text.utf8)
                guard fsync(descriptor.rawValue) == 0 else { throw Errno(rawValue: errno) }
            }
            // A rename would put it in the place of one that came meanwhile.
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
