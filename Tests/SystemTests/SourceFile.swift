import FoundationEssentials
import SystemPackage
import TestSupport

/// A recording to replay: times and accelerations, read independently of the publisher's code.
struct SourceFile {
    let times: [Double]
    let rows: [[Double]]

    /// Reads plain CSV with columns `t,x,y,z` in this order.
    init(csv text: String) {
        let lines = text.split(separator: "\n").dropFirst()
        let numbers = lines.map { $0.split(separator: ",").map { Double($0) ?? .nan } }
        times = numbers.map { $0[0] }
        rows = numbers.map { Array($0[1...3]) }
    }

    /// Reads gzipped CSV, unpacked by gzip.
    init(gzip path: FilePath) async throws {
        self.init(csv: try await Tool.output(of: "gzip", ["-dc", path.string]))
    }
}
