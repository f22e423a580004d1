/// Something that a program publishes: a JSON body under a topic.
///
/// On the wire an event is three frames, `topic | body | time`, or four where samples are packed. The body names its
/// schema, who published it, and its place in that publisher's count, so that a receiver notices what it missed.
/// Within a schema's version fields are only ever added, as optional.
public protocol Event: Codable, Sendable {
    /// The schema's name with its version: a literal, never a type's name.
    static var schema: String { get }
    /// The schema that the body names.
    var schema: String { get }
    /// The program that published it.
    var source: String { get }
    /// How many events of this topic the source published before; for samples, how many samples.
    var sequence: Int { get }
    /// Where it is published: `<area>/<subject…>`.
    var topic: String { get }
}

/// The first part of a topic.
public enum TopicArea {
    /// `samples/<device>/<stream>`: each batch of samples.
    public static let samples = "samples/"
    /// The topics of the streams of a pattern: a name, a device with a slash at the end, or `StreamName.everything`.
    public static func samples(of pattern: String) -> String {
        samples + (pattern == StreamName.everything ? "" : pattern)
    }
    /// `stream/<device>/<stream>`: each stream's description, each second and on a change.
    public static let stream = "stream/"
    /// `recording/<session>`: what happens to a recording.
    public static let recording = "recording/"
    /// `segment/<session>/<log>`: a log file was finished.
    public static let segment = "segment/"
    /// `steps/<device>`: each update of step counting.
    public static let steps = "steps/"
    /// `log/<name>`: what happens to finished log files.
    public static let log = "log/"
    /// `archive/<session>`: what happens to a session's archive.
    public static let archive = "archive/"
}
