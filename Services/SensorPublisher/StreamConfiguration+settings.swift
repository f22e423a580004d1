import Messages
package import ServiceKit

extension StreamConfiguration {
    /// The keys that say where samples come from.
    package static let sourceKeys = ["signal", "points", "replay", "stdin"]
    /// All keys of a stream.
    package static let keys =
        ["device", "stream"] + sourceKeys + ["rate", "batch", "unit", "packed", "speed", "loop", "rebase", "convert"]

    /// Reads a stream, from flags or from a section of the configuration file alike.
    /// - Throws: `ServiceError` where a value can't be read, `PublisherError` where the values make no stream.
    package init(reading reader: ConfigurationReader) throws {
        let sources: [Source?] = [
            try reader.value("signal", as: String.self).map(Source.signal),
            try reader.value("points", as: String.self).map(Source.points),
            try reader.value("replay", as: String.self).map(Source.replay),
            try reader.value("stdin", as: LineParser.Format.self).map(Source.stdin),
        ]
        let device = try reader.value("device", default: "phone").replacing("%h", with: ThisMachine.name)
        let stream = try reader.value("stream", default: "accelerometer")
        let rate = try reader.value("rate", as: Double.self)
        let batch = try reader.value("batch", as: Int.self)
        let unit = try reader.value("unit", as: String.self)
        let isPacked = try reader.value("packed", default: false)
        let speed = try reader.value("speed", default: 1.0)
        let isLooping = try reader.value("loop", default: false)
        let isRebased = try reader.value("rebase", default: false)
        let conversion = try reader.value("convert", as: AccelerationUnit.self)

        let given = sources.compactMap(\.self)
        guard given.count == 1, let source = given.first else {
            throw PublisherError(
                .invalidParameter, "give just one of \(Self.sourceKeys.joined(separator: ", ")), not \(given.count)")
        }
        try self.init(
            device: device, stream: stream, source: source, rate: rate, batch: batch, unit: unit, isPacked: isPacked,
            speed: speed, isLooping: isLooping, isRebased: isRebased, conversion: conversion)
    }
}

extension LineParser.Format: ConfigurationValue {}
extension AccelerationUnit: ConfigurationValue {}
