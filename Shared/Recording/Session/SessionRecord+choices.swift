package import Messages

extension SessionRecord {
    /// Most bytes of UTF-8 in the name of a step: every record includes it.
    package static let maximumNameLength = 256

    /// The steps in which a stream is recorded; nil for all. If several requested patterns match the stream, the most exact one
    /// applies.
    package func choice(of stream: StreamName) -> StreamChoice? {
        guard let choices else { return nil }
        let name = [stream.description, "\(stream.device)/", StreamName.everything].first(where: streams.contains)
        return choices.first { $0.stream == name }
    }

    /// Whether a stream has a timeline of its own, because of its steps or its pauses.
    package func isApart(_ stream: StreamName) -> Bool {
        choice(of: stream) != nil || pauses.contains { $0.stream == stream }
    }

    /// Whether samples that arrived may have been left out of the logs.
    var leavesOut: Bool { choices != nil || !pauses.isEmpty }

    /// Takes the requested streams and their steps.
    package mutating func choose(_ asked: [StreamChoice]) {
        streams = asked.map(\.stream)
        let choices = asked.filter(\.hasSteps)
        self.choices = choices.isEmpty ? nil : choices
    }

    /// Refuses a name that is too long.
    /// - Parameter field: the name's key in the request.
    /// - Throws: `invalidParameter`.
    package static func check(_ name: String?, _ field: String) throws(RequestError) {
        let count = name?.utf8.count ?? 0
        try RequestError.require(
            count <= maximumNameLength,
            "\(field) has \(count) bytes, and stands in every record: write at most \(maximumNameLength)")
    }

    /// Refuses steps of a stream that is listed twice, and names of steps that are empty or too long.
    /// - Throws: `invalidParameter`.
    package static func check(_ asked: [StreamChoice]) throws(RequestError) {
        guard asked.contains(where: \.hasSteps) else { return }
        var counts: [String: Int] = [:]
        for choice in asked { counts[choice.stream, default: 0] += 1 }
        for choice in asked where choice.hasSteps {
            guard counts[choice.stream] == 1 else {
                throw RequestError(
                    .invalidParameter, "'\(choice.stream)' stands in streams twice, and has steps: name it once")
            }
            try check(choice.fromStep, "fromStep", of: choice)
            try check(choice.toStep, "toStep", of: choice)
        }
    }

    private static func check(_ step: String?, _ key: String, of choice: StreamChoice) throws(RequestError) {
        guard let step, !(1...maximumNameLength).contains(step.utf8.count) else { return }
        throw RequestError(
            .invalidParameter,
            "\(key) of '\(choice.stream)' has \(step.utf8.count) bytes: write a step's name of 1 to "
                + "\(maximumNameLength) bytes, or leave it out")
    }
}
