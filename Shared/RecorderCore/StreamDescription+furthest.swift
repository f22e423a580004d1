package import Messages

extension [StreamDescription] {
    /// The descriptions without those of publishers that are behind others of the same run: they know neither the run's
    /// position nor its end. A device that numbers its samples may have moved to another publisher, and relays may share
    /// the messages of a stream.
    package var furthest: [StreamDescription] {
        func run(_ description: StreamDescription) -> [String] {
            [description.device, description.stream, description.epoch]
        }
        var positions: [[String]: Int] = [:]
        for description in self {
            let position = positions[run(description)] ?? description.nextSequence
            positions[run(description)] = Swift.max(position, description.nextSequence)
        }
        return filter { positions[run($0)] == $0.nextSequence }
    }
}
