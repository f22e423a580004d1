import Messages
import PublisherCore
import Runtime
import SampleSources
import SensorReaders
import ZeroMQ

/// The engine's stream for a device.
private struct EngineStream: DeviceStream {
    let engine: SamplingEngine
    let index: Int

    func connect(_ format: TimedInput.Format) async throws { try await engine.connect(index, format) }

    func take(_ rows: PushedRows, on clock: Publication.DeviceClock, shiftedBy shift: Int64) async {
        await engine.take(rows, on: clock, shiftedBy: shift, of: index)
    }

    func note(_ clock: RemoteClock) async { await engine.note(clock, of: index) }
}

/// Streams of devices.
extension SamplingEngine {
    /// The devices' readers, with the indexes of their streams.
    static func devices(
        of streams: [StreamConfiguration]
    ) throws(ZeroMQError) -> [(stream: Int, reader: any DeviceReader)] {
        var devices: [(stream: Int, reader: any DeviceReader)] = []
        for (index, stream) in streams.enumerated() {
            switch stream.source {
            case .iio(let iio):
                let device = IIODevice(iio, rate: stream.rate, channels: stream.fields?.map(\.name))
                devices.append((index, try IIOReader(device, monotonic: { Self.clock().monotonic })))
            case .lsl(let lsl):
                devices.append((index, try LSLReader(lsl, rate: stream.rate, monotonic: { Self.clock().monotonic })))
            case .signal, .points, .replay, .stdin, .serial: break
            }
        }
        return devices
    }

    /// Reads all devices, each repeatedly: a disconnected one may come back.
    func readDevices() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            for (index, device) in devices {
                group.addTask { try await self.follow(device, for: EngineStream(engine: self, index: index)) }
            }
            try await self.waitForEnd()
        }
    }

    private func follow(_ device: any DeviceReader, for stream: EngineStream) async throws {
        while true {
            do {
                try await device.read(for: stream)
            } catch {
                try Task.checkCancellation()
                let failure = error as? PublisherError ?? PublisherError(.unreadable, "\(error)")
                core.interrupt(core.streams[stream.index], failure, at: now)
                perform()
            }
            try await wait(until: runtime.monotonic + Self.reopening) { false }
        }
    }

    fileprivate func connect(_ stream: Int, _ format: TimedInput.Format) throws(PublisherError) {
        try core.connect(core.streams[stream], format, at: now)
        perform()
    }

    fileprivate func note(_ clock: RemoteClock, of stream: Int) { core.note(clock, of: core.streams[stream]) }

    fileprivate func take(_ rows: PushedRows, on clock: Publication.DeviceClock, shiftedBy shift: Int64, of stream: Int)
    {
        core.take(rows, on: clock, shiftedBy: shift, of: core.streams[stream], at: now)
        perform()
    }
}
