import FoundationEssentials
import Glibc
import MessageBus
import Messages
import ZeroMQ

/// Counting steps: over a file, and of many devices live.
extension Bench {
    struct LiveSteps {
        /// CPU seconds per second.
        var load = 0.0
        var publisherLoad = 0.0
        var megabytes = 0.0
        /// The delay from publication to counting, in seconds.
        var medianDelay = 0.0
        var delay99 = 0.0
        var lost = 0
        /// The seconds from the restart after a kill until nothing was missing any more.
        var caughtUp = 0.0
    }

    /// Counts the steps in a generated file: a person who walks at 50 Hz.
    func offlineSteps(samples: Int) throws -> Measurement {
        try withDirectory { directory in
            let path = "\(directory)/walk.csv"
            try writeWalk(samples: samples, to: path)
            let start = MonotonicClock.now
            let counter = try Child("\(programs)/step-counter", ["count", path])
            _ = try counter.line()
            let usage = counter.end(signal: 0)
            return Measurement(samples: samples, seconds: Double(MonotonicClock.now - start) / 1e9, usage: usage)
        }
    }

    private func writeWalk(samples: Int, to path: String) throws {
        var text = Array("t,x,y,z\n".utf8)
        // One minute, repeated with new times.
        let rows = (0..<3_000).map { row in
            let phase = 2 * Double.pi * 1.8 * Double(row) / 50
            let axes = [0.4 * sin(phase / 2), 9.7 + 2.4 * sin(phase) + 0.7 * sin(2 * phase + 1), 1.9]
            return "," + axes.map { "\(($0 * 1e4).rounded() / 1e4)" }.joined(separator: ",") + "\n"
        }
        for sample in 0..<samples { text += "\(Double(sample * 2) / 100)\(rows[sample % rows.count])".utf8 }
        try Data(text).write(to: URL(filePath: path))
    }

    /// Counts the steps of many walkers live, each on a device of its own.
    func liveSteps(devices: Int, batch: Int, isPacked: Bool, seconds: Int) async throws -> LiveSteps {
        try await withDirectory { directory in
            let streams = (0..<devices).map { device in
                #"{"device":"d\#(device)","signal":"walk:cadence=\#(1.5 + Double(device % 7) / 10),seed=\#(device)","#
                    + #""rate":50,"batch":\#(batch),"packed":\#(isPacked)}"#
            }
            let file = "\(directory)/streams.json"
            try Data(#"{"sensor-publisher":{"streams":[\#(streams.joined(separator: ","))]}}"#.utf8)
                .write(to: URL(filePath: file))
            let (publisher, endpoints) = try publisher(["--config", file, "--high-water-mark", "100000"])
            defer { publisher.end() }
            let (killed, client) = try counter(in: directory, listeningTo: endpoints.publish)
            _ = try await untilCaughtUp(client, devices: devices)
            try await Task.sleep(for: .seconds(5))

            var live = LiveSteps()
            let before = (try killed.usage(), try publisher.usage(), MonotonicClock.now)
            try await Task.sleep(for: .seconds(seconds))
            let elapsed = Double(MonotonicClock.now - before.2) / 1e9
            let usage = try killed.usage()
            live.load = (usage.cpuSeconds - before.0.cpuSeconds) / elapsed
            live.publisherLoad = (try publisher.usage().cpuSeconds - before.1.cpuSeconds) / elapsed
            live.megabytes = usage.peakMegabytes
            let measures = try await measures(client)
            live.medianDelay = measures["delayMedianSeconds"] ?? 0
            live.delay99 = measures["delay99PercentSeconds"] ?? 0
            live.lost = Int(measures["samplesLost"] ?? 0)
            guard measures["stepsCounted"] ?? 0 > Double(devices * seconds) else {
                throw Child.Failure(description: "step-counter counts too few steps: \(measures)")
            }

            killed.end(signal: SIGKILL)
            let start = MonotonicClock.now
            let (counter, again) = try counter(in: directory, listeningTo: endpoints.publish)
            defer { counter.end() }
            live.caughtUp = Double(try await untilCaughtUp(again, devices: devices) - start) / 1e9
            live.lost += Int(try await self.measures(again)["samplesLost"] ?? 0)
            return live
        }
    }

    private func measures(_ client: RequestClient) async throws -> [String: Double] {
        try await client.send(ServiceHealth(), timeout: .seconds(20)).measures ?? [:]
    }

    /// Waits until all devices are counted and none of their samples is missing.
    private func untilCaughtUp(_ client: RequestClient, devices: Int) async throws -> Int64 {
        while true {
            let measures = try await measures(client)
            if measures["devices"] == Double(devices), measures["devicesCatchingUp"] == 0 { return MonotonicClock.now }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    private func counter(in directory: String, listeningTo endpoint: String) throws -> (Child, RequestClient) {
        let child = try Child(
            "\(programs)/step-counter",
            [
                "--data", directory, "--subscribe", endpoint, "--publish", "tcp://127.0.0.1:*", "--reply",
                "tcp://127.0.0.1:*", "--log-level", "error",
            ])
        let ready = try WireCoding.decode(Ready.self, from: child.line().utf8)
        return (child, try client(of: "step-counter", at: ready.reply))
    }
}
