/// Something that a program publishes: a JSON body under a topic.
///
/// On the wire an event is three frames, `topic | body | time`, or four if samples are packed. The body names its schema, its
/// publisher, and its place in that publisher's count, so that a receiver notices what it missed. Within a version of a schema,
/// fields are only ever added, and are optional.
public protocol Event: Codable, Sendable {
    /// The schema's name with its version: a literal, never a type's name.
    static var schema: String { get }
    /// The schema that the body names.
    var schema: String { get }
    /// The publishing program's name.
    var source: String { get }
    /// The number of earlier events on this topic; for samples, the number of earlier samples.
    var sequence: Int { get }
    /// The topic it is published under: `<area>/<subject…>`.
    var topic: String { get }
}

/// The first part of a topic.
public enum TopicArea {
    /// `samples/<device>/<stream>`: each batch of samples.
    public static let samples = "samples/"
    /// The topic prefix of the streams that a pattern matches: a name, a device with a slash at the end, or
    /// `StreamName.everything`.
    public static func samples(of pattern: String) -> String {
        samples + (pattern == StreamName.everything ? "" : pattern)
    }
    /// `stream/<device>/<stream>`: each stream's description, each second and on a change.
    public static let stream = "stream/"
    /// `recording/<session>`: changes of a recording.
    public static let recording = "recording/"
    /// `segment/<session>/<log>`: a stream file was finished.
    public static let segment = "segment/"
    /// `steps/<device>`: changes in a device's steps.
    public static let steps = "steps/"
    /// `log/<name>`: changes of finished stream files.
    public static let log = "log/"
    /// `archive/<session>`: changes of a session's archive.
    public static let archive = "archive/"
}
