import Files
package import Recording

/// Reads a device's gyroscope alongside its accelerometer, and finds the sample nearest in time.
///
/// A sample is valid for times within half an interval of it: nothing is interpolated, and nothing spans a gap.
package final class RotationSource {
    private struct Sink: RowSink {
        let axes: [Int]
        let scale: Double
        var found: (time: Int64, rotation: SIMD3<Double>)?

        mutating func append(_ row: SampleRow) {
            guard let time = row.time else { return }
            found = (time, SIMD3(row.number(axes[0]), row.number(axes[1]), row.number(axes[2])) * scale)
        }

        mutating func append(_ absence: StreamBreak) {}
    }

    private var reader: StreamReader
    private var walk: StreamWalk
    private var sink: Sink
    /// The samples around the last time requested.
    private var before: (time: Int64, rotation: SIMD3<Double>)?
    private var behind: (time: Int64, rotation: SIMD3<Double>)?
    private var isAtEnd = false
    private let tolerance: Int64
    private(set) var error: RecordingError?

    /// - Returns: nil if the stream is not that of a three-axis gyroscope.
    package init?(_ stream: ExportedStream, _ reader: consuming StreamReader, _ walk: StreamWalk) {
        guard let axes = stream.axes, let unit = stream.unit.flatMap({ RotationUnit($0) }) else { return nil }
        self.reader = reader
        self.walk = walk
        sink = Sink(axes: axes, scale: unit.scale)
        // Half an interval; without a rate, half of 50 ms.
        tolerance = Int64(0.5e9 / max(1e-3, stream.rate ?? 20)) + 1
    }

    /// The rotation at a time, in rad/s. Request times in ascending order.
    func rotation(at time: Int64) -> SIMD3<Double>? {
        while !isAtEnd, behind.map({ $0.time < time }) ?? true { advance() }
        let nearest = [before, behind].compactMap { $0 }.min { abs($0.time - time) < abs($1.time - time) }
        guard let nearest, abs(nearest.time - time) <= tolerance else { return nil }
        return nearest.rotation
    }

    private func advance() {
        do throws(RecordingError) {
            sink.found = nil
            while sink.found == nil {
                guard try walk.read(&reader, bytes: 1, into: &sink) else {
                    isAtEnd = true
                    break
                }
            }
            before = behind
            behind = sink.found
        } catch {
            self.error = error
            isAtEnd = true
        }
    }
}
