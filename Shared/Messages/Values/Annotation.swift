/// An annotation of a session: a label for a moment or a span. Annotations are only ever added: a correction does not replace
/// the annotation that it corrects.
public struct Annotation: Codable, Hashable, Sendable {
    /// The annotation's number in its session, from 1.
    public var number: Int
    /// One word: `fall`, `sit`. Empty in an annotation that withdraws the one it corrects.
    public var label: String
    /// When the labelled event happened or began.
    public var from: WallTime
    /// When it ended; absent for a moment.
    public var to: WallTime?
    /// The stream that the annotation concerns; absent for all streams.
    public var stream: StreamName?
    /// Free text.
    public var note: String?
    /// When the recorder received the annotation, on the recorder's clock.
    public var date: WallTime
    /// The number of the annotation that this one corrects.
    public var corrects: Int?

    /// Creates an annotation.
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

    /// The valid annotations, without those that were corrected or withdrawn, ordered by time.
    public static func valid(in annotations: [Annotation]) -> [Annotation] {
        let corrected = Set(annotations.compactMap(\.corrects))
        return annotations.filter { !corrected.contains($0.number) && !$0.label.isEmpty }
            .sorted { ($0.from, $0.number) < ($1.from, $1.number) }
    }
}
