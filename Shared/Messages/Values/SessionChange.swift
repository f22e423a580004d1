/// A step or a pause of a session with its time, so that another recorder can continue the session unchanged.
public struct SessionChange: Codable, Hashable, Sendable {
    /// `step`, `pause` or `resume`.
    public var change: RecordingEvent.Change
    /// When it happened, on the recorder's clock.
    public var date: WallTime
    /// The step that begins; absent for a pause or resumption.
    public var step: String?
    /// The only stream that is paused or resumed; absent for all streams.
    public var stream: StreamName?

    /// Creates a change of a session.
    public init(_ change: RecordingEvent.Change, at date: WallTime, step: String? = nil, stream: StreamName? = nil) {
        self.change = change
        self.date = date
        self.step = step
        self.stream = stream
    }
}
