import Import
import Messages
import Synchronization

/// Answers requests for samples like a publisher that keeps part of a stream, or as a test's script decides.
final class ScriptedPublisher: SampleReplies {
    typealias Answer = (reply: SamplesReplay.Reply, frames: ArraySlice<[UInt8]>)

    /// How samples are encoded in messages.
    enum Form: CaseIterable { case json, packed }

    /// A stream, with the samples that are kept.
    struct Kept {
        var name: StreamName
        var epoch: String
        var fields: [String]
        var types: [FieldType]?
        var form = Form.json
        /// Uptimes, and values as JSON, by sample number.
        var samples: [Int: (uptime: String, values: [String])]
        /// The first sample after a sleep of the machine, and the seconds slept.
        var wake: (number: Int, slept: Int)?

        /// A batch of some samples: its body, and its matrix if it is packed.
        func batch(_ numbers: Range<Int>) -> [[UInt8]] {
            let rows = numbers.compactMap { samples[$0] }
            let isPacked = form == .packed && types == nil
            func list(_ texts: [String]) -> String { texts.map { "\"\($0)\"" }.joined(separator: ",") }
            let elapsed = wake.map { #""elapsed":\#(1000 + (numbers.lowerBound < $0.number ? 0 : $0.slept)),"# } ?? ""
            var body = #"{"clock":{"date":"2026-11-21T10:00:00Z",\#(elapsed)"uptime":1000},"count":\#(rows.count),"#
            body += #""device":"\#(name.device)","epoch":"\#(epoch)","fields":[\#(list(fields))],"#
            body += #""schema":"samples.v1","#
            body += #""sequence":\#(numbers.lowerBound),"source":"test","stream":"\#(name.stream)""#
            if let types { body += #","types":[\#(list(types.map(\.rawValue)))]"# }
            if !isPacked {
                let values = rows.map { "[\(([$0.uptime] + $0.values).joined(separator: ","))]" }
                body += #","values":[\#(values.joined(separator: ","))]"#
            }
            var matrix: [UInt8] = []
            for number in rows.flatMap({ [$0.uptime] + $0.values }) where isPacked {
                withUnsafeBytes(of: (Double(number) ?? .nan).bitPattern.littleEndian) { matrix += $0 }
            }
            return [Array("\(body)}".utf8)] + (isPacked ? [matrix] : [])
        }
    }

    private struct State {
        var requests: [SamplesReplay] = []
        var pauses: [Double] = []
        var received: [[UInt8]] = []
    }

    private let state = Mutex(State())
    private let script: @Sendable (SamplesReplay, Int) throws -> Answer

    /// - Parameter script: receives each request and the number of earlier requests.
    init(_ script: @escaping @Sendable (SamplesReplay, Int) throws -> Answer) { self.script = script }

    /// Answers as a publisher does: with the kept samples of a run from the first requested number on, up to a limit.
    static func keeping(
        _ kept: [Kept], atOnce limit: Int = 100, batch size: Int = 30
    ) -> @Sendable (SamplesReplay, Int) throws -> Answer {
        { request, _ in
            let name = StreamName(device: request.device, stream: request.stream)
            guard let stream = kept.first(where: { $0.name == name && $0.epoch == request.epoch }) else {
                throw kept.contains { $0.name == name }
                    ? RequestError(.unknownEpoch, "the publisher started anew")
                    : RequestError(.unknownStream, "there is no stream \(name)")
            }
            let numbers = stream.samples.keys.sorted()
            let end = request.from.addingReportingOverflow(request.count)
            let wanted = numbers.filter { $0 >= request.from && (end.overflow || $0 < end.partialValue) }
            var run: [Int] = []
            for number in wanted.prefix(limit) {
                if let last = run.last, number != last + 1 { break }
                run.append(number)
            }
            var frames: [[UInt8]] = []
            for start in stride(from: 0, to: run.count, by: size) {
                let last = min(start + size, run.count) - 1
                frames += stream.batch(run[start]..<run[last] + 1)
            }
            let reply = SamplesReplay.Reply(
                from: run.first ?? request.from, count: run.count, first: numbers.first ?? 0, last: numbers.last ?? -1)
            return (reply, frames[...])
        }
    }

    var requests: [SamplesReplay] { state.withLock { $0.requests } }
    var pauses: [Double] { state.withLock { $0.pauses } }
    /// The frames of all answers.
    var received: [[UInt8]] { state.withLock { $0.received } }

    func answer(_ request: SamplesReplay) async throws -> Answer {
        let number = state.withLock { state in
            state.requests.append(request)
            return state.requests.count - 1
        }
        let answer = try script(request, number)
        state.withLock { $0.received += answer.frames }
        return answer
    }

    func pause(seconds: Double) async throws { state.withLock { $0.pauses.append(seconds) } }
}
