import FoundationEssentials
import Messages
import SampleSources
import SensorReaders
import ServiceKit
import SystemPackage
import TestSupport
import Testing
import ZeroMQ

/// A sensor publisher with a simulated Linux IIO device.
@Suite(.timeLimit(.minutes(2)))
struct IIOTests {
    private static let period: Int64 = 5_000_000

    private static func flags(_ root: FilePath, _ more: [String: String] = [:]) -> [String: String] {
        ["iio": "bma180", "iio-root": root.string, "device": "board", "rate": "200"].merging(more) { $1 }
    }

    /// The raw axes of a sample number, and the published values: halves, turned by the mount matrix.
    private static func axes(_ number: Int) -> [Int] { [number % 2_048, -(number % 2_049), number % 7 - 3] }
    private static func values(_ number: Int) -> [Double] {
        let axes = axes(number).map { Double($0) / 2 }
        return [axes[1], -axes[0], axes[2]]
    }

    private static func expect(_ batches: [HeardBatch], are numbers: [Int], by number: (Int) -> Int) {
        var heard: [Int] = []
        for batch in batches {
            for (place, row) in batch.rows.enumerated() {
                let sequence = batch.batch.sequence + place
                heard.append(sequence)
                #expect(Array(row.dropFirst()) == values(number(sequence)), "sample \(sequence)")
            }
        }
        #expect(heard == numbers)
    }

    @Test func aDeviceIsSetUpAndEachOfItsSamplesIsPublishedOnce() async throws {
        try await withTemporaryDirectory { root in
            let device = try FakeIIODevice(at: root)
            // These were in the device's buffer before the start.
            try device.sample(device.scan([1, 1, 1], time: 1))
            try await PublisherUnderTest.run(Self.flags(root)) { publisher in
                let listener = try await publisher.listener()
                try await device.started()
                #expect(device.text("scan_elements/in_accel_z_en") == "1")
                #expect(device.text("scan_elements/in_timestamp_en") == "1")
                #expect(device.text("current_timestamp_clock") == "monotonic")
                #expect(device.text("trigger/current_trigger") == "bma180-dev0")
                #expect(device.text("sampling_frequency") == "200.000000")
                #expect(device.text("buffer/length") == "400")
                #expect(device.text("buffer/watermark") == "2")
                let described = try #require(try await publisher.stream("board/accelerometer"))
                #expect(described.fields == ["uptime", "x", "y", "z"])
                #expect(described.unit == "m/s2")
                #expect(described.rate == 200)
                #expect(described.origin == .measured)
                #expect(described.description?.contains("gaps are estimated") == true)

                // 1,000 samples, 50 of which the kernel dropped, cut at arbitrary places.
                let begin = MonotonicClock.now
                let bytes = (0..<1_000).filter { !(500..<550).contains($0) }
                    .flatMap { device.scan(Self.axes($0), time: begin + Int64($0) * Self.period) }
                for start in stride(from: 0, to: bytes.count, by: 1_001) {
                    try device.sample(Array(bytes[start..<min(start + 1_001, bytes.count)]))
                }
                let (batches, _) = try await listener.batches { $0.nextSequence == 1_000 }
                Self.expect(batches, are: Array(0..<500) + Array(550..<1_000)) { $0 }
                let first = try #require(batches.first?.rows.first?.first)
                #expect(abs(first - Double(begin) / 1e9) < 1e-6)
                let refused = try await publisher.refusal(
                    of: SamplesReplay(
                        device: "board", stream: "accelerometer", epoch: described.epoch, from: 500, count: 50))
                #expect(refused?.data?.reason == "estimated")
            }
            #expect(device.text("buffer/enable") == "0", "it is stopped at the end")
        }
    }

    @Test func whatIsMeasuredWhileTheStreamIsStoppedIsNoGap() async throws {
        try await withTemporaryDirectory { root in
            let device = try FakeIIODevice(at: root)
            try await PublisherUnderTest.run(Self.flags(root)) { publisher in
                let listener = try await publisher.listener()
                let begin = MonotonicClock.now
                func sample(_ numbers: Range<Int>) throws {
                    for number in numbers {
                        try device.sample(device.scan(Self.axes(number), time: begin + Int64(number) * Self.period))
                    }
                }
                let name = StreamName(device: "board", stream: "accelerometer")
                try await device.started()
                try sample(0..<10)
                _ = try await listener.batches { $0.nextSequence == 10 }
                _ = try await publisher.ask(StreamsStop(stream: name))
                try sample(10..<20)
                // The device is still read. After one more read, earlier samples are processed; the last one is too old.
                try await eventually("an empty buffer") { try device.isEmpty }
                try device.sample(device.scan([1, 1, 1], time: 1))
                try await eventually("an empty buffer") { try device.isEmpty }
                _ = try await publisher.ask(StreamsStart(stream: name))
                try sample(100..<110)
                let (batches, _) = try await listener.batches { $0.nextSequence >= 20 }
                Self.expect(batches, are: Array(10..<20)) { $0 + 90 }
            }
        }
    }

    @Test func aDeviceThatVanishesFailsTheStreamAndContinuesItWhenItIsBack() async throws {
        try await withTemporaryDirectory { root in
            let first = try FakeIIODevice(at: root)
            try await PublisherUnderTest.run(Self.flags(root)) { publisher in
                let listener = try await publisher.listener()
                try await first.started()
                let begin = MonotonicClock.now
                for number in 0..<4 {
                    try first.sample(first.scan(Self.axes(number), time: begin + Int64(number) * Self.period))
                }
                _ = try await listener.batches { $0.nextSequence == 4 }
                try first.unplug()
                let (_, failed) = try await listener.batches {
                    $0.state == .failed && $0.reason?.contains("no IIO device is called bma180") == true
                }
                #expect(failed.nextSequence == 4)
                // The device has another number now, and at least 100 samples' time has passed by its clock.
                let second = try FakeIIODevice(at: root, entry: "iio:device3", triggers: ["bma180-dev3"])
                try await second.started()
                let back = max(begin + 103 * Self.period, MonotonicClock.now)
                try second.sample(second.scan(Self.axes(7), time: back))
                let (batches, now) = try await listener.batches { $0.state == .running && $0.nextSequence > 4 }
                let lost = Int((Double(back - begin) / Double(Self.period)).rounded()) - 4
                Self.expect(batches, are: [4 + lost]) { _ in 7 }
                #expect(now.nextSequence == 5 + lost)
                #expect(now.epoch == failed.epoch)
            }
        }
    }

    @Test(
        arguments: [
            (["iio": "bmi160"], [:], "the devices are iio:device0 (bma180)"),
            (["rate": "150"], ["sampling_frequency": "gone"], "sampling_frequency"),
            (["fields": "accel_x,accel_q"], [:], "no channel accel_q: it has accel_x, accel_y, accel_z"),
            (["iio-trigger": "hrtimer1"], [:], "no hrtimer1: give --iio-trigger one of bma180-dev0"),
            ([:], ["scan_elements/in_accel_x_type": "wide"], "'wide' is not the type of an IIO channel"),
            ([:], ["buffer/enable": nil], "has no buffer"),
        ] as [([String: String], [String: String?], String)])
    func whatCannotBeSetUpSaysWhatToDo(flags: [String: String], values: [String: String?], reason: String) async throws
    {
        try await withTemporaryDirectory { root in
            let device = try FakeIIODevice(at: root, values: values)
            if values["sampling_frequency"] != nil {
                // Not even root can write this file: a directory replaces it.
                try Self.replace(device.directory.appending("sampling_frequency"))
            }
            try await PublisherUnderTest.run(Self.flags(root, flags)) { publisher in
                try await eventually("a reason") {
                    publisher.host.health.reply.reasons.contains { $0.contains(reason) }
                }
            }
        }
    }

    /// Replaces a file by a directory.
    private static func replace(_ path: FilePath) throws {
        try FileManager.default.removeItem(atPath: path.string)
        try FileManager.default.createDirectory(atPath: path.string, withIntermediateDirectories: false)
    }

    @Test func thereMayBeNoneOrSeveral() throws {
        try withTemporaryDirectory { root in
            func reason(_ name: String) -> String {
                let settings = StreamConfiguration.IIO(name: name, root: root.string)
                do throws(PublisherError) {
                    _ = try IIODevice(settings, rate: nil, channels: nil).open { 0 }
                    return ""
                } catch {
                    return error.message
                }
            }
            #expect(reason("bma180").contains("there is none in"))
            _ = try FakeIIODevice(at: root)
            let second = try FakeIIODevice(at: root, entry: "iio:device1", values: ["trigger/current_trigger": "some"])
            #expect(reason("bma180").contains("pass --iio one of iio:device0 (bma180), iio:device1 (bma180)"))
            #expect(reason("iio:device1") == "")
            #expect(second.text("trigger/current_trigger") == "some", "it had a trigger")
            #expect(second.text("sampling_frequency") == "50", "no rate was asked for")
        }
    }

    @Test func whoMayNotIsToldWhatAllowsIt() {
        let path = FilePath("/sys/bus/iio/devices/iio:device0/buffer/enable")
        let refused = IIODevice.problem(path, "can't be set to 1", Errno.permissionDenied).message
        #expect(refused.contains("sudo chgrp -R iio /sys/bus/iio/devices/*/"))
        #expect(
            IIODevice.problem(path, "can't be opened", Errno.resourceBusy).message.contains(
                "sudo fuser -v /dev/iio:device*"))
    }
}
