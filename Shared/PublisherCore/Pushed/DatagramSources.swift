import SampleSources

/// Which devices each address speaks for: so many, that one sender can't take all the streams that there may be.
struct DatagramSources {
    /// Devices that one address may speak for.
    static let maximumDevices = 256
    /// Addresses that are remembered; a silent one makes room.
    static let maximumAddresses = 4_096
    /// How long an address is silent before another may have its place, in nanoseconds.
    private static let longestSilence = PushedInput.longestSilence

    private struct Source {
        var devices: Set<String> = []
        var lastArrival: Int64
    }

    private var sources: [String: Source] = [:]

    /// Whether an address may speak for a device; notes that it does.
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
