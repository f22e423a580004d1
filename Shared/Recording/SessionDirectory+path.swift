package import SystemPackage

extension SessionDirectory {
    /// The directory of a session, wherever it was copied to.
    ///
    /// - Throws: `notFound` or `unreadable`: who it is of stands in its `session.json`.
    package init(at path: FilePath) throws(RecordingError) {
        let directory = Directory(path)
        session = try StoredJSON.read(SessionRecord.self, from: Self.recordName, in: directory).session
        self.directory = directory
    }
}
