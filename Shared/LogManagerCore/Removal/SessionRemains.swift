/// What the directory of a session that is over has besides finished stream files: `session.json`, the report, lists, files of
/// steps.
package struct SessionRemains: Hashable, Sendable {
    package var bytes: Int
    /// How many stream files there are beside it.
    package var files: Int

    package init(bytes: Int, files: Int) {
        self.bytes = bytes
        self.files = files
    }
}
