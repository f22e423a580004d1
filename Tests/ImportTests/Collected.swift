import Files
import Import
import Messages

/// Everything that a decoder found in a file.
struct Collected {
    struct Sample: Hashable {
        /// Nanoseconds since the first sample's second.
        var time: Int64
        var values: [Double]
    }

    private(set) var all: [Decoded] = []

    /// - Parameter size: the size of the pieces that the decoder receives.
    init(_ decoder: some ImportDecoder, _ bytes: [UInt8], inPiecesOf size: Int = 1 << 16) throws(RecordingError) {
        var decoder = decoder
        var all: [Decoded] = []
        for start in stride(from: 0, to: bytes.count, by: size) {
            try bytes[start..<min(start + size, bytes.count)].withUnsafeBufferPointer { piece throws(RecordingError) in
                try decoder.decode(UnsafeRawBufferPointer(piece)) { found in all.append(found) }
            }
        }
        try decoder.finish { found in all.append(found) }
        self.all = all
    }

    var streams: [ImportedStream] {
        all.flatMap { found -> [ImportedStream] in if case .streams(let streams, _) = found { streams } else { [] } }
    }

    var start: Int64 {
        for case .streams(_, let start) in all { return start }
        return 0
    }

    var samples: [Sample] { samples(of: 0) }

    func samples(of stream: Int) -> [Sample] {
        all.flatMap { found -> [Sample] in
            guard case .samples(stream, let block) = found else { return [] }
            let columns = block.values.count / max(1, block.times.count)
            return block.times.enumerated().map { row, time in
                Sample(time: time, values: Array(block.values[row * columns..<(row + 1) * columns]))
            }
        }
    }

    /// The gaps of the first stream, each with the number of samples before it.
    var gaps: [[String]] {
        var count = 0
        var gaps: [[String]] = []
        for found in all {
            if case .samples(0, let block) = found { count += block.times.count }
            if case .gap(0, let lost, let reason) = found { gaps.append(["\(count)", "\(lost)", reason.rawValue]) }
        }
        return gaps
    }

    var failures: [String] {
        all.compactMap { found -> String? in if case .failure(let sentence) = found { sentence } else { nil } }
    }

    /// All items except samples, gaps and failures.
    var others: [Decoded] {
        all.filter { found -> Bool in
            switch found {
            case .streams, .samples, .gap, .failure: false
            default: true
            }
        }
    }
}
