package import Messages

/// An annotation of a recording, with the number of steps in it. Times are seconds on the recording's clock.
package struct CountedAnnotation: Codable, Hashable, Sendable {
    let label: String
    let from: Double
    /// Absent for a moment.
    let to: Double?
    let note: String?
    /// Absent for a moment, and before the steps are counted.
    var steps: Int?

    /// - Parameter start: the zero of the recording's time.
    package init(_ annotation: Annotation, since start: WallTime) {
        label = annotation.label
        from = annotation.from.seconds(since: start)
        to = annotation.to?.seconds(since: start)
        note = annotation.note
    }

    /// A copy with the number of these steps, in order, that are in its range.
    func counting(_ times: [Double]) -> CountedAnnotation {
        guard let to else { return self }
        var counted = self
        counted.steps = times.count { $0 >= from && $0 < to }
        return counted
    }
}
