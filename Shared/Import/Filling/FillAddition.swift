import Files
import Messages
import Recording

/// What a source adds to the streams of a device.
struct FillAddition {
    /// What is added to a stream.
    struct Stream {
        /// Its place in the session's record.
        let index: Int
        /// Makes the file of the samples in a directory that has no file of the log's own name.
        let makeFile: (_ fill: Int, Directory) throws(RecordingError) -> SessionRecord.FilledFile
        /// The uptime of the first filled sample, if none was recorded before it.
        var firstUptime: Double?
        /// The uptime of the last filled sample, if none was recorded behind it.
        var lastUptime: Double?
    }

    let device: String
    let source: SessionRecord.Source
    /// What is added to a time of the source to get an uptime, in nanoseconds, by epoch.
    var offsets: [String: Int64] = [:]
    var streams: [Stream]
}

/// What a source has for a session's gaps.
struct FillFindings {
    /// What becomes of the streams with gaps.
    var streams: [SessionFill.Stream] = []
    /// The fill that has used this source already.
    var formerFill: SessionRecord.Fill?
    /// For each device that gains something.
    var additions: [FillAddition] = []
}
