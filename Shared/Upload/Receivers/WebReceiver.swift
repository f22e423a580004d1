import Messages

/// A web server that stores files.
///
/// The server is first asked for a file of this name. The same file is not sent again, and a different file is not replaced,
/// except the file's own first bytes, which some servers keep after an interrupted upload. An upload is confirmed if the server
/// reports a matching hash. If the server reports too little, the whole file is read back and hashed here. Servers without
/// hashes, such as nginx, require that.
struct WebReceiver: Receiver {
    let store: any ObjectStore

    func location(of name: String) -> String { store.location(of: name) }

    func upload(
        _ source: SourceFile, over connection: HTTPConnection, _ throttle: UploadThrottle
    ) throws(UploadError) -> UploadConfirmation {
        let visit = Visit(source: source, store: store, connection: connection, throttle: throttle)
        let there = try visit.look()
        if let there, try !visit.isFragment(there) { return try visit.confirm(there, code: .different) }
        guard let said = try store.put(source, replacing: there, over: connection, throttle) else {
            // Another upload was faster; it may be the same file.
            return try visit.confirm(try visit.look() ?? RemoteObject(), code: .different)
        }
        // A response that proves the content makes another request unnecessary.
        if case .same(let proof, let checksum) = try visit.verdict(on: said, code: .corrupted) {
            return visit.confirmation(proof, checksum, wasThere: false)
        }
        return try visit.confirm(try visit.look() ?? said, code: .corrupted)
    }

    private struct Visit {
        let source: SourceFile
        let store: any ObjectStore
        let connection: HTTPConnection
        let throttle: UploadThrottle

        var file: UploadFile { source.archive }

        /// The server's description of the file of this name.
        /// - Returns: `nil` if there is no file, or the server does not report it.
        func look() throws(UploadError) -> RemoteObject? {
            let response = try ask("HEAD")
            if response.isSuccess { return RemoteObject(response, isAboutObject: true) }
            let refusal = store.refusal(response, of: file.name)
            // Many servers allow only writing. A real problem then appears when the file is written.
            if (300..<500).contains(response.status), ![408, 425, 429].contains(response.status) { return nil }
            throw refusal
        }

        /// Whether the server has only the beginning of the file.
        func isFragment(_ statement: RemoteObject) throws(UploadError) -> Bool {
            guard store.keepsFragments, let bytes = statement.bytes, bytes < file.bytes else { return false }
            let response = try ask("GET", hashing: bytes)
            guard let hashed = response.hashed else {
                let refusal = store.refusal(response, of: file.name)
                guard refusal.retry == .never else { throw refusal }
                return false
            }
            guard hashed.bytes == bytes else { return false }
            return try source.sha256(ofFirst: bytes, throttle) == hashed.sha256
        }

        func verdict(
            on statement: RemoteObject, code: UploadError.Code
        ) throws(UploadError) -> RemoteObject.Verdict {
            let verdict = try statement.verdict(on: file) { () throws(UploadError) in try source.digests(throttle) }
            if case .different(let reason) = verdict {
                throw .mismatch(code, at: store.location(of: file.name), reason)
            }
            return verdict
        }

        /// - Parameter code: the error's code if the server has a different file.
        func confirm(_ statement: RemoteObject, code: UploadError.Code) throws(UploadError) -> UploadConfirmation {
            let wasThere = code == .different
            if case .same(let proof, let checksum) = try verdict(on: statement, code: code) {
                return confirmation(proof, checksum, wasThere: wasThere)
            }
            let response = try ask("GET", hashing: file.bytes)
            guard let hashed = response.hashed else {
                let refusal = store.refusal(response, of: file.name)
                guard refusal.retry == .never else { throw refusal }
                throw UploadError(
                    .unconfirmed, at: store.location(of: file.name),
                    "the file exists, but the receiver reports no hash of it and does not allow reading it back "
                        + "(status \(response.status))",
                    advice: "Allow GET there, then request the upload again: nothing will be sent twice.", retry: .never
                )
            }
            guard hashed.bytes == file.bytes, hashed.sha256 == file.sha256Bytes else {
                throw .mismatch(code, at: store.location(of: file.name), "what was read back is not what was sent")
            }
            return confirmation(.readBack, file.sha256, wasThere: wasThere)
        }

        func confirmation(_ proof: UploadConfirmation.Proof, _ checksum: String, wasThere: Bool) -> UploadConfirmation {
            UploadConfirmation(
                location: store.location(of: file.name), bytes: file.bytes, sha256: file.sha256, proof: proof,
                checksum: checksum, wasThere: wasThere, date: .now)
        }

        private func ask(_ method: String, hashing: Int? = nil) throws(UploadError) -> HTTPResponse {
            var request = try store.request(method, file.name)
            request.hashedBytes = hashing
            return try connection.answer(to: request, throttle, at: store.location(of: file.name))
        }
    }
}

extension HTTPConnection {
    /// Makes a request and waits for the response.
    /// - Parameter location: the location in error messages.
    func answer(to request: HTTPRequest, _ throttle: UploadThrottle, at location: String) throws(UploadError)
        -> HTTPResponse
    {
        do throws(HTTPFailure) {
            return try send(request, throttle)
        } catch {
            throw UploadError(error, at: location)
        }
    }
}
