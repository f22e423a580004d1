import FoundationEssentials
import Messages
import SystemPackage
import TestSupport

/// A publisher at twice what the recorder can store, then at less than half: nothing is lost, memory stays within its bound, and
/// the logs catch up.
///
/// The disk is the bottleneck: all writes together take as long as on one with `slowRate` bytes per second. Each sample is
/// written twice, to the write-ahead log and to its file.
struct Overload: Experiment {
    let name = "overload"
    let fault = "a publisher at twice what the recorder can store, then at half"

    /// A large and a small stream, in messages of 100 samples.
    private static func streams(_ rate: Int) -> [StreamPlan] {
        [
            StreamPlan(device: "phone", stream: "accelerometer", rate: rate * 2 / 3, batch: 100, isPacked: true),
            StreamPlan(device: "left-wrist", stream: "accelerometer", rate: rate / 3, batch: 100, isPacked: true),
        ]
    }

    /// The bytes that may wait in the recorder, for the disk and for earlier samples, and as much again for data being processed.
    private static let memoryLimit = 512 << 20
    /// How soon the logs must have everything once the disk is fast.
    private static let limit = Duration.seconds(60)

    func run(in lab: Laboratory, row: inout Row) async throws {
        let isShort = lab.crashes < 100
        let time = Duration.seconds(isShort ? 10 : 30)
        let streams = Self.streams(isShort ? 6_000 : 60_000)
        let offered = try await bytesPerSecond(streams, in: lab, row: &row)
        for syncMicroseconds in (isShort ? [100_000] : [nil, 100_000]) as [Int?] where row.violations.isEmpty {
            row.tries += 1
            let name = syncMicroseconds == nil ? name : "\(name)-slow-syncs"
            try await Rig.run(name, in: lab, row: &row, streams: streams) { rig, row in
                let heal = rig.directory.appending("heal")
                var layer = FaultLayer(library: lab.faultLayer, root: rig.data, heal: heal)
                layer.rates = (slow: offered / 2, fast: offered * 2)
                layer.syncMicroseconds = syncMicroseconds
                _ = try await rig.startRecorder(layer).ready()
                try await rig.start("array", SessionPlan(streams: ["left-wrist/"]))
                try await rig.start("table", SessionPlan(streams: ["phone/"], format: "csv"))
                try await Task.sleep(for: time)
                try Data().write(to: URL(filePath: heal.string))
                let start = ContinuousClock.now
                try await rig.catchUp()
                row.add(recovery: .now - start)
                if ContinuousClock.now - start > Self.limit {
                    row.violations.append("the logs took \(ContinuousClock.now - start) to catch up")
                }
                let memory = try Memory.peak(of: rig.running())
                row.notes.append(
                    "\(offered >> 10) kB a second for a disk of \(offered >> 11) kB a second, syncs of "
                        + "\((syncMicroseconds ?? 0) / 1_000) ms: the recorder had up to \(memory >> 20) MB")
                if memory > Self.memoryLimit {
                    row.violations.append("the recorder had \(memory >> 20) MB, more than \(Self.memoryLimit >> 20)")
                }
                try await rig.stopAll(row: &row)
                try await rig.terminateRecorder(isWhole: true)
            }
        }
    }

    /// The bytes per second that the recorder writes for these streams on a disk that keeps up.
    private func bytesPerSecond(
        _ streams: [StreamPlan], in lab: Laboratory, row: inout Row
    ) async throws -> Int {
        var bytes = 0
        let time = 2
        try await Rig.run("\(name)-measured", in: lab, row: &row, streams: streams) { rig, row in
            var layer = FaultLayer(library: lab.faultLayer, root: rig.data)
            layer.trace = rig.directory.appending("trace")
            _ = try await rig.startRecorder(layer).ready()
            try await rig.start("array", SessionPlan(streams: ["left-wrist/"]))
            try await rig.start("table", SessionPlan(streams: ["phone/"], format: "csv"))
            try await Task.sleep(for: .seconds(time))
            try await rig.catchUp()
            try await rig.stopAll(row: &row)
            try await rig.killRecorder()
            guard let trace = layer.trace else { return }
            let writes = try DiskTrace(trace).records.filter { $0.kind == .write }
            guard let first = writes.first, let last = writes.last else { throw Violation("nothing was written") }
            let seconds = Double(last.time - first.time) / 1e9
            bytes = Int(Double(writes.reduce(0) { $0 + $1.payload.count }) / seconds)
        }
        return bytes
    }
}
