/// A note to a session: a label for a moment or a span of it. Annotations are only added: one that corrects another stands beside
/// it.
public struct Annotation: Codable, Hashable, Sendable {
    /// Its place among the session's annotations, from 1.
    public var number: Int
    /// What it says in a word: `fall`, `sit`. Empty if it withdraws the one that it corrects.
    public var label: String
    /// When what it says happened or began.
    public var from: WallTime
    /// When that ended; absent for a moment.
    public var to: WallTime?
    /// The stream that it is about; absent if it is about all.
    public var stream: StreamName?
    /// More words.
    public var note: String?
    /// When the recorder got it, on the recorder's clock.
    public var date: WallTime
    /// The number of the annotation in whose place it stands.
    public var corrects: Int?

    /// An annotation.
    public init(
        number: Int, label: String, from: WallTime, to: WallTime? = nil, stream: StreamName? = nil, note: String? = nil,
        date: WallTime, corrects: Int? = nil
    ) {
        self.number = number
        self.label = label
        self.from = from
        self.to = to
        self.stream = stream
        self.note = note
        self.date = date
        self.corrects = corrects
    }

    /// The annotations that hold: without those that were corrected or withdrawn, in the order of their time.
    public static func valid(in annotations: [Annotation]) -> [Annotation] {
        let corrected = Set(annotations.compactMap(\.corrects))
        return annotations.filter { !corrected.contains($0.number) && !$0.label.isEmpty }
            .sorted { ($0.from, $0.number) < ($1.from, $1.number) }
    }
}
