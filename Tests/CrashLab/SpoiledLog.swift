import FoundationEssentials
import Messages
import SystemPackage
import TestSupport

/// The write-ahead log of a killed recorder is torn or shortened, has a flipped bit, or is gone. The recorder starts all the
/// same, reports the damage if it can be known, uses none of it, and fetches what it lacks from the publisher.
struct SpoiledLog: Experiment {
    let part: Double

    let name = "spoiled-log"
    let fault = "the write-ahead log of a killed recorder torn, cut, flipped or gone"

    /// The way in which the log's last file is spoiled.
    private enum Spoiling: CustomStringConvertible {
        case cut(Int)
        case flip(byte: Int, bit: Int)
        case zeros(Range<Int>)
        /// The result of an unfinished write, which is not damage.
        case torn(Int)
        case gone

        var description: String {
            switch self {
            case .cut(let length): "cut to \(length) bytes"
            case .flip(let byte, let bit): "bit \(bit) of byte \(byte) flipped"
            case .zeros(let range): "zeros in \(range)"
            case .torn(let count): "\(count) bytes of a block behind it"
            case .gone: "gone"
            }
        }

        func apply(to bytes: [UInt8], lastBlock: Range<Int>) -> [UInt8]? {
            var bytes = bytes
            switch self {
            case .cut(let length): return Array(bytes.prefix(length))
            case .flip(let byte, let bit): bytes[byte] ^= 1 << UInt8(bit)
            case .zeros(let range): bytes.replaceSubrange(range, with: Array(repeating: 0, count: range.count))
            case .torn(let count): bytes += bytes[lastBlock].prefix(count)
            case .gone: return nil
            }
            return bytes
        }
    }

    func run(in lab: Laboratory, row: inout Row) async throws {
        var random = lab.random(for: name)
        var said = 0
        let wanted = lab.share(part, atLeast: 6)
        try await Rig.run(name, in: lab, row: &row) { rig, row in
            for number in 0..<wanted where row.violations.isEmpty {
                row.tries += 1
                rig.data = rig.directory.appending("data-\(number)")
                if try await attempt(number, rig, &row, &random) { said += 1 }
                try? FileManager.default.removeItem(atPath: rig.data.string)
            }
        }
        row.notes.append("\(said) of \(row.tries) could be known, and were said")
    }

    /// - Returns: whether the recorder could notice the damage.
    private func attempt(
        _ number: Int, _ rig: Rig, _ row: inout Row, _ random: inout SplitMix
    ) async throws -> Bool {
        _ = try await rig.startRecorder().ready()
        for (index, plan) in SessionPlan.usual.enumerated() { try await rig.start("session-\(index)", plan) }
        try await Task.sleep(for: random.milliseconds(600...1_800))
        try await rig.killRecorder()
        guard let segment = try WriteAheadFiles(rig.data).segments.last,
            let lastBlock = segment.blocks.last
        else { throw Violation("the recorder left no write-ahead log") }
        let count = segment.bytes.count
        let spoiling: Spoiling =
            switch number % 6 {
            case 0: .flip(byte: Int.random(in: 0..<count, using: &random), bit: Int.random(in: 0..<8, using: &random))
            case 1: .cut(Int.random(in: 0...count, using: &random))
            case 2: .torn(Int.random(in: 1..<lastBlock.count, using: &random))
            case 3: .gone
            case 4:
                Self.zeros(in: count, &random)
            default: .cut(lastBlock.lowerBound)
            }
        let place = "the write-ahead log \(spoiling), of \(segment.blocks.count) blocks and \(count) bytes"
        // A later block shows that the spoiled part had been durable; so does session.json, by its position in the log.
        let recorded = try rig.plans.keys.compactMap { session in
            try SessionFiles(rig.directory(of: session)).json("session.json")["logPosition"]?["recorded"]?.integer
        }.min().map { $0 - segment.position }
        let isKnowable: Bool
        switch spoiling {
        case .flip(let byte, _): isKnowable = byte < lastBlock.lowerBound
        case .zeros(let range):
            // The last block stays, and a block before it is changed.
            isKnowable =
                range.upperBound <= lastBlock.lowerBound && segment.bytes[range].contains { $0 != 0 }
        case .cut(let length): isKnowable = length < recorded ?? 0
        case .torn: isKnowable = false
        // The files are then completed by replay, and nothing in them is wrong.
        case .gone: isKnowable = false
        }
        let path = WriteAheadFiles.directory(beside: rig.data.appending("recordings")).appending(segment.name)
        if let bytes = spoiling.apply(to: segment.bytes, lastBlock: lastBlock) {
            try Data(bytes).write(to: URL(filePath: path.string))
        } else {
            try FileManager.default.removeItem(atPath: path.string)
        }
        do {
            try await comeBack(isKnowable: isKnowable, isTorn: number % 6 == 2, rig, &row)
        } catch {
            throw Violation("\(place): \(error)\n\(try rig.running().standardError)")
        }
        if !row.violations.isEmpty { row.violations.append(place) }
        return isKnowable
    }

    private static func zeros(in count: Int, _ random: inout SplitMix) -> Spoiling {
        let start = Int.random(in: 0..<count, using: &random)
        return .zeros(start..<min(count, start + 4_096))
    }

    private func comeBack(
        isKnowable: Bool, isTorn: Bool, _ rig: Rig, _ row: inout Row
    ) async throws {
        let start = ContinuousClock.now
        _ = try await rig.startRecorder().ready()
        try await rig.settleAll()
        let health = try await rig.ask(ServiceHealth())
        let isSaid = health.status != .ok && health.reasons.contains { $0.contains("write-ahead log") }
        if isKnowable, !isSaid { row.violations.append("health does not name the write-ahead log: \(health)") }
        if isTorn, isSaid { row.violations.append("health says that a torn write is damage: \(health)") }
        try await rig.catchUp()
        row.add(recovery: .now - start)
        for session in rig.plans.keys.sorted() {
            try await rig.stop(session)
            guard let expectation = rig.expectations[session] else { continue }
            let directory = rig.directory(of: session)
            let failures = try SessionFiles(directory).json("session.json")["failures"]?.array ?? []
            let isNoted = failures.contains { $0.string?.contains("write-ahead log") == true }
            if isKnowable, !isNoted {
                row.violations.append("session.json of \(session) does not name the write-ahead log: \(failures)")
            }
            // The publisher has kept everything: no sample may be missing or duplicated.
            row.add(
                SessionCheck.findings(
                    in: directory, expectation: expectation,
                    histories: rig.forwarder.samples.histories(matching: expectation.streams)))
            try await rig.verify(directory, isWhole: failures.isEmpty, row: &row)
            rig.forget(session)
        }
        let log = try rig.running().standardError
        if isKnowable, !log.contains("write-ahead log") {
            row.violations.append("the recorder's log does not name the write-ahead log: \(log)")
        }
        try await rig.record("after", row: &row)
        try await rig.killRecorder()
    }
}
