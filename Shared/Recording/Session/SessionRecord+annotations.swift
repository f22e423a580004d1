package import Messages

extension SessionRecord {
    /// Most annotations of a session: its record includes them.
    package static let maximumAnnotations = 5_000
    private static let maximumLabelLength = 256
    private static let maximumNoteLength = 1_024

    /// The annotation that a request asks for.
    /// - Parameters:
    ///   - known: the session's annotations so far.
    ///   - date: when the request arrived: the session's date if it runs, otherwise the recorder's.
    /// - Returns: the annotation; `isNew` is false if the session already has it.
    /// - Throws: `invalidParameter`, also if there are too many; `unknownStream` if the session records no such stream.
    package func annotation(
        _ request: RecordingAnnotate, known: [Annotation], at date: WallTime
    ) throws(RequestError) -> (annotation: Annotation, isNew: Bool) {
        try RequestError.require(
            !request.label.isEmpty || request.corrects != nil, "label is empty: write what happened, as \"fall\"")
        let (label, note) = (request.label.utf8.count, request.note?.utf8.count ?? 0)
        try RequestError.require(
            label <= Self.maximumLabelLength, "label has \(label) bytes: write at most \(Self.maximumLabelLength)")
        try RequestError.require(
            note <= Self.maximumNoteLength, "note has \(note) bytes: write at most \(Self.maximumNoteLength)")
        if let number = request.corrects {
            try RequestError.require(
                known.contains { $0.number == number },
                "corrects is \(number): the session has \(known.count) annotations, numbered from 1")
        }
        var from = request.from ?? date
        // A correction has the time of the annotation that it corrects, unless the request has another.
        var to = request.to
        if request.from == nil, let corrected = known.first(where: { $0.number == request.corrects }) {
            from = corrected.from
            to = to ?? corrected.to
        }
        // Dates on the wire have microseconds.
        if from.nanosecondsSince1970 / 1_000 == startDate.nanosecondsSince1970 / 1_000 { from = max(from, startDate) }
        try RequestError.require(
            from >= startDate, "from is \(from.utcText): write a time after the session's start, \(startDate.utcText)")
        if let endDate {
            try RequestError.require(
                from <= endDate, "from is \(from.utcText): write a time before the session's end, \(endDate.utcText)")
        }
        try RequestError.require(
            to.map { $0 >= from } ?? true, "to is before from, \(from.utcText): write a later time")
        if let stream = request.stream, !stream.matches(anyOf: Set(streams)) {
            throw RequestError(
                .unknownStream, "the session does not record \(stream): it records \(streams.joined(separator: ", "))")
        }
        let annotation = Annotation(
            number: known.count + 1, label: request.label, from: from, to: to, stream: request.stream,
            note: request.note, date: date, corrects: request.corrects)
        if request.from != nil, let old = known.first(where: { $0.isSame(as: annotation) }) { return (old, false) }
        try RequestError.require(
            known.count < Self.maximumAnnotations,
            "the session has \(known.count) annotations: it takes no more; record them as a stream")
        return (annotation, true)
    }
}

extension Annotation {
    /// Whether both are equal, apart from number and date of arrival.
    fileprivate func isSame(as other: Annotation) -> Bool {
        var other = other
        (other.number, other.date) = (number, date)
        return self == other
    }
}
