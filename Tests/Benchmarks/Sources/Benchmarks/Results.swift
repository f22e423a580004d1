import FoundationEssentials
import Messages

/// The measured rows, as JSON beside the tables: rewritten after each row, so that an interrupted run leaves its results.
final class Results {
    private struct Document: Encodable {
        var streams: [StreamsRow] = []
        var throughput: [ThroughputRow] = []
        var publisher: [PublisherRow] = []
    }

    private let path: String?
    private var document = Document()

    /// - Parameter path: the file; nil for none.
    init(at path: String?) { self.path = path }

    func add(_ row: StreamsRow) throws {
        document.streams.append(row)
        try write()
    }

    func add(_ row: ThroughputRow) throws {
        document.throughput.append(row)
        try write()
    }

    func add(_ row: PublisherRow) throws {
        document.publisher.append(row)
        try write()
    }

    private func write() throws {
        guard let path else { return }
        try Data(WireCoding.encode(document)).write(to: URL(filePath: path), options: .atomic)
    }
}
