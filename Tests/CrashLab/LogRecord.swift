/// A record of a log file, a sample or a marker, whatever the file's format.
struct LogRecord: Hashable, Sendable {
    var uptime: Double
    var timestamp: Double
    var stepPath: String
    /// The stream's name; nil for markers.
    var sensorType: String?
    /// A sample's columns after `uptime`.
    var values: [Double] = []
    /// A marker's word.
    var marker: String?
    var epoch: String?
    var from: Int?
    var count: Int?
    var reason: String?

    var isSample: Bool { sensorType != nil }
}
