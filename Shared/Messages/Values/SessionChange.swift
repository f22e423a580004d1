/// A step or a pause of a session, with its time: so that another recorder can continue the session as it was.
public struct SessionChange: Codable, Hashable, Sendable {
    /// `step`, `pause` or `resume`.
    public var change: RecordingEvent.Change
    /// When it happened, on the recorder's clock.
    public var date: WallTime
    /// The step that the session moved on to; absent otherwise.
    public var step: String?
    /// The only stream that is paused or resumed; absent for all.
    public var stream: StreamName?

    /// A change of a session.
    public init(_ change: RecordingEvent.Change, at date: WallTime, step: String? = nil, stream: StreamName? = nil) {
        self.change = change
        self.date = date
        self.step = step
        self.stream = stream
    }
}
