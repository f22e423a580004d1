import Export
import Files
import Foundation
import Messages
import Recording
import SystemPackage
import TestSupport
import Testing

/// `sensor_msgs/msg/Imu`: its source streams, and the conditions for writing it.
@Suite(.timeLimit(.minutes(1)))
struct MCAPExportTests {
    /// The topics of the ROS file, in the order of their streams; nil without such a file.
    private static func topics(_ streams: [String], in directory: FilePath) throws -> [String]? {
        let session = try MadeSession(in: directory)
        for name in streams {
            try session.add("phone/\(name)", unit: "m/s2")
            try session.sample("phone/\(name)", 0.1, "0,0,9.8")
        }
        try session.finish(at: 1)
        let exported = try Exported(session.directory, to: directory.appending("out"), .mcap)
        guard let bytes = try exported.files["s1_ros2.mcap"] else { return nil }
        let places = ["/phone/imu", "/phone/imu_", "/phone/imu__"].compactMap { topic in
            let name = withUnsafeBytes(of: UInt32(topic.utf8.count).littleEndian) { Data($0) } + Data(topic.utf8)
            return bytes.range(of: name, options: .backwards).map { (topic, $0.lowerBound) }
        }
        return places.sorted { $0.1 < $1.1 }.map(\.0)
    }

    @Test(arguments: ["userAcceleration", "linear_acceleration", "linearAccelerometer"])
    func accelerationWithoutGravityIsNone(name: String) throws {
        try withTemporaryDirectory { directory in
            let both = try Self.topics([name, "accelerometer"], in: directory)
            #expect(both == ["/phone/imu"])
            let alone = try Self.topics([name], in: directory.appending("alone"))
            #expect(alone == nil)
        }
    }

    @Test func theStreamAccelerometerHasTheTopicOfTheDevice() throws {
        try withTemporaryDirectory { directory in
            let names = ["accelerometerUncalibrated", "accelerometer", "acc2"]
            let topics = try Self.topics(names, in: directory)
            #expect(topics == ["/phone/imu_", "/phone/imu", "/phone/imu__"])
            let others = try Self.topics(["acc1", "acc2"], in: directory.appending("others"))
            #expect(others == ["/phone/imu", "/phone/imu_"])
        }
    }

    /// Each of these streams has two topics, besides those of gaps and events. Topics have numbers of 16 bits.
    @Test(arguments: [(32_766, true), (32_767, false)])
    func moreTopicsThanAFileCanHaveAreRefused(count: Int, isPossible: Bool) throws {
        try withTemporaryDirectory { directory in
            let session = try MadeSession(in: directory)
            try session.add("phone/accelerometer", unit: "m/s2")
            try session.finish(at: 1)
            let record = try session.directory.record()
            let log = try #require(record.logs.first)
            let streams = Array(repeating: ExportedStream(log), count: count)
            let place = try ExportDirectory(directory.appending("out"), name: "s1-mcap", replaces: false)
            let error = RecordingError.thrown { () throws(RecordingError) in
                _ = try MCAPExport(
                    ExportedSession(record, clock: .utc), streams, library: "", in: place
                ) { _ in nil }
            }
            #expect((error == nil) == isPossible)
            #expect(error.map { "\($0)".contains("65536 topics") && "\($0)".contains("--streams") } ?? true)
        }
    }

    /// Samples from before the session's start, with times relative to it.
    @Test(arguments: [
        (Int64(-1), Int32(-1), UInt32(999_999_999)), (-300_000_000, -1, 700_000_000), (-1_000_000_000, -1, 0),
        (-1_000_000_001, -2, 999_999_999), (0, 0, 0), (1_500_000_000, 1, 500_000_000),
    ])
    func timesBeforeZeroAreThoseOfROS(time: Int64, seconds: Int32, nanoseconds: UInt32) {
        var buffer = ByteBuffer(capacity: 0)
        ImuMessage(frame: "phone").append(time: time, acceleration: .zero, rotation: nil, to: &buffer)
        let stamp = buffer.withUnsafeBytes { bytes in
            (
                Int32(littleEndian: bytes.loadUnaligned(fromByteOffset: 4, as: Int32.self)),
                UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
            )
        }
        #expect(stamp.0 == seconds)
        #expect(stamp.1 == nanoseconds)
    }
}
