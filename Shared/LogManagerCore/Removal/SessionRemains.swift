/// The contents of an ended session's directory besides finished stream files: `session.json`, the report, lists, files of steps.
package struct SessionRemains: Hashable, Sendable {
    package var bytes: Int
    /// How many stream files are still in the directory.
    package var files: Int

    package init(bytes: Int, files: Int) {
        self.bytes = bytes
        self.files = files
    }
}
