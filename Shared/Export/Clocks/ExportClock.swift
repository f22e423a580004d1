/// The clock that an export's times are on.
package enum ExportClock: String, CaseIterable, Codable, Sendable {
    /// The recorder's clock, as dates in UTC.
    case utc
    /// The recorder's clock, as seconds since the session's start.
    case recorder
    /// Each publisher's own clock as it was recorded, as seconds since the session's start.
    case own
}
