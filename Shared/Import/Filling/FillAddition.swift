import Files
import Messages
import Recording

/// The additions of a source to the streams of a device.
struct FillAddition {
    /// The addition to a stream.
    struct Stream {
        /// The stream's index in the session's record.
        let index: Int
        /// Makes the file of the samples in a directory that has no stream file of this name.
        let makeFile: (_ fill: Int, Directory) throws(RecordingError) -> SessionRecord.FilledFile
        /// The uptime of the first filled sample in seconds, if no sample was recorded before it.
        var firstUptime: Double?
        /// The uptime of the last filled sample in seconds, if no sample was recorded after it.
        var lastUptime: Double?
    }

    let device: String
    let source: SessionRecord.Source
    /// By epoch, nanoseconds to add to a time of the source to get an uptime.
    var offsets: [String: Int64] = [:]
    var streams: [Stream]
}

/// The samples that a source has for a session's gaps.
struct FillFindings {
    /// The outcomes for the streams with gaps.
    var streams: [SessionFill.Stream] = []
    /// The earlier fill that used the same source.
    var formerFill: SessionRecord.Fill?
    /// The additions to each device that gains samples.
    var additions: [FillAddition] = []
}
