import SampleSources

/// Which address sends for which devices, with a limit, so that one sender cannot use up all streams.
struct DatagramSources {
    /// The most devices of one address.
    static let maximumDevices = 256
    /// The most addresses remembered; a silent one makes room.
    static let maximumAddresses = 4_096
    /// How long an address must be silent before another may have its place, in nanoseconds.
    private static let longestSilence = PushedInput.longestSilence

    private struct Source {
        var devices: Set<String> = []
        var lastArrival: Int64
    }

    private var sources: [String: Source] = [:]

    /// Whether an address may send for a device. If so, the device is noted.
    mutating func admits(_ device: String, from address: String, at now: Int64) -> Bool {
        if sources[address] == nil, sources.count >= Self.maximumAddresses {
            sources = sources.filter { now - $0.value.lastArrival < Self.longestSilence }
            guard sources.count < Self.maximumAddresses else { return false }
        }
        var source = sources.removeValue(forKey: address) ?? Source(lastArrival: now)
        defer { sources[address] = source }
        if now - source.lastArrival >= Self.longestSilence { source.devices = [] }
        source.lastArrival = now
        guard !source.devices.contains(device) else { return true }
        guard source.devices.count < Self.maximumDevices else { return false }
        source.devices.insert(device)
        return true
    }
}
