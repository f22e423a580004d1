import FoundationEssentials
import Glibc
package import PublisherCore
package import SampleSources
import ServiceKit
package import SystemPackage

/// A device of Linux IIO: its files in sysfs and its buffer in /dev (Linux, Documentation/iio/iio_devbuf.rst).
///
/// Its files are read and written by blocking calls, which are slow for a device on a slow bus: call it on a thread of its own.
package struct IIODevice: Sendable {
    private static let longestAttribute = 4_096
    /// The attributes to read: reading others may start a measurement.
    private static let read = [
        "_scale", "_offset", "mount_matrix", "sampling_frequency", "sampling_frequency_available",
        "current_timestamp_clock",
    ]
    /// Seconds of samples that the kernel's buffer holds.
    private static let bufferedSeconds = 2.0
    private static let leastLength = 128
    private static let mostLength = 65_536

    /// A device that is sampling.
    package struct Opened {
        package let file: FileDescriptor
        package let scan: IIOScan
        package let format: TimedInput.Format
        let clock: Publication.DeviceClock
        /// Its buffer's directory in sysfs.
        let directory: FilePath
        /// Its buffer's file in /dev.
        let device: FilePath
    }

    private let settings: StreamConfiguration.IIO
    private let rate: Double?
    /// The channels to read; nil for all.
    private let channels: [String]?
    private let devices: FilePath

    package init(_ settings: StreamConfiguration.IIO, rate: Double?, channels: [String]?) {
        self.settings = settings
        self.rate = rate
        self.channels = channels
        devices = FilePath(settings.root).appending("sys/bus/iio/devices")
    }

    // MARK: Finding it

    /// The entries in sysfs whose names begin with a prefix, and the device names in them.
    private func entries(_ prefix: String) -> [(entry: String, name: String)] {
        let all = (try? FileManager.default.contentsOfDirectory(atPath: devices.string)) ?? []
        return all.filter { $0.hasPrefix(prefix) }.sorted().map { entry in
            (entry, text(devices.appending(entry).appending("name")) ?? "")
        }
    }

    /// - Throws: `unreadable`, listing the devices found.
    private func find() throws(PublisherError) -> (entry: String, name: String) {
        let all = entries("iio:device")
        let found = all.filter { $0.entry == settings.name || $0.name == settings.name }
        if found.count == 1 { return found[0] }
        let list = (found.isEmpty ? all : found).map { "\($0.entry) (\($0.name))" }.joined(separator: ", ")
        guard found.isEmpty else {
            throw PublisherError(
                .unreadable, "several IIO devices are called \(settings.name): pass --iio one of \(list)")
        }
        guard all.isEmpty else {
            throw PublisherError(.unreadable, "no IIO device is called \(settings.name): the devices are \(list)")
        }
        throw PublisherError(
            .unreadable,
            "no IIO device is called \(settings.name): there is none in \(devices); check whether the sensor's driver is loaded (lsmod)"
        )
    }

    // MARK: Files

    private func text(_ path: FilePath) -> String? {
        guard let file = try? SmallFile(path, limit: Self.longestAttribute) else { return nil }
        let text = String(decoding: file.bytes, as: UTF8.self)
        return text.last == "\n" ? String(text.dropLast()) : text
    }

    private func attributes(in directory: FilePath) -> IIOAttributes {
        var texts: [String: String] = [:]
        func add(_ path: String) { texts[path] = text(directory.appending(path)) }
        for name in names(in: directory) where Self.read.contains(where: name.hasSuffix) { add(name) }
        for part in ["scan_elements", "buffer0"] {
            for name in names(in: directory.appending(part)) where name.hasPrefix("in_") { add("\(part)/\(name)") }
        }
        return IIOAttributes(texts)
    }

    private func names(in directory: FilePath) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: directory.string)) ?? []
    }

    /// Writes an attribute, unless it has this value already.
    private func write(_ value: String, to path: FilePath, advice: String? = nil) throws(PublisherError) {
        guard text(path) != value else { return }
        do {
            let file = try FileDescriptor.open(path, .writeOnly, options: [.truncate, .closeOnExec])
            _ = try file.closeAfter { try file.writeAll("\(value)\n".utf8) }
        } catch {
            throw Self.problem(path, "can't be set to \(value)", error, advice: advice)
        }
    }

    /// An error of one of the device's files, with advice.
    package static func problem(
        _ path: FilePath, _ what: String, _ error: any Error, advice: String? = nil
    ) -> PublisherError {
        let remedy =
            switch error as? Errno {
            case .permissionDenied?, .notPermitted?:
                "this program's user may not: sudo chgrp -R iio /sys/bus/iio/devices/*/ /dev/iio:device* && sudo chmod -R g+rwX "
                    + "/sys/bus/iio/devices/*/ /dev/iio:device*, with the user in the group iio; docs/sensors.md has a rule for udev that "
                    + "lasts"
            case .resourceBusy?: "another program samples the device: sudo fuser -v /dev/iio:device* names it"
            default: advice ?? "check whether the device is plugged in; it is reopened when it is back"
            }
        return PublisherError(.unreadable, "\(path) \(what): \(error); \(remedy)")
    }

    // MARK: Setting it up

    /// Sets the device up and starts it.
    /// - Parameter now: reads the clock of uptimes; samples taken before are left out.
    /// - Throws: `unreadable` or `invalidInput`, with what failed and what to do.
    package func open(now: () -> Int64) throws(PublisherError) -> Opened {
        let (entry, name) = try find()
        let directory = devices.appending(entry)
        let buffer = directory.appending(exists(directory.appending("buffer")) ? "buffer" : "buffer0")
        var attributes = attributes(in: directory)
        let channels = try chosen(of: attributes)
        guard exists(buffer.appending("enable")) else {
            throw PublisherError(.unreadable, "\(entry) (\(name)) has no buffer: its driver gives single values only")
        }
        // A killed program leaves the buffer enabled, and settings cannot be changed meanwhile.
        try write("0", to: buffer.appending("enable"))
        let clock = try setClock(in: directory, attributes)
        for channel in attributes.channels {
            try write(
                channels.contains(channel) ? "1" : "0",
                to: directory.appending("\(attributes.elements)/in_\(channel)_en"))
        }
        let trigger = try setTrigger(of: name, entry, in: directory)
        let actual = try setRate(in: directory, trigger, attributes, channels)
        // A driver may change a scale with the rate.
        attributes = self.attributes(in: directory)
        let scan: IIOScan
        do throws(PublisherError) { scan = try attributes.scan(of: channels) } catch {
            throw error.at("\(entry) (\(name))")
        }
        try setLength(in: buffer, rate: actual)
        let device = FilePath(settings.root).appending("dev").appending(entry)
        let file: FileDescriptor
        do {
            file = try FileDescriptor.open(device, .readOnly, options: [.nonBlocking, .closeOnExec])
        } catch {
            throw Self.problem(device, "can't be opened", error)
        }
        var format = TimedInput.Format(
            fields: IIOAttributes.published(scan.fields), unit: IIOAttributes.unit(of: scan.fields), rate: actual,
            description:
                "iio:\(name), \(IIOAttributes.summary(of: scan.fields)); it does not number its samples: gaps are estimated"
        )
        format.earliest = now()
        do throws(PublisherError) {
            try write(
                "1", to: buffer.appending("enable"),
                advice: "check whether its trigger runs, and try fewer channels (--fields)")
        } catch {
            try? file.close()
            throw error
        }
        return Opened(file: file, scan: scan, format: format, clock: clock, directory: buffer, device: device)
    }

    /// Stops the device.
    func close(_ opened: Opened) {
        try? opened.file.close()
        try? write("0", to: opened.directory.appending("enable"))
    }

    private func exists(_ path: FilePath) -> Bool { FileManager.default.fileExists(atPath: path.string) }

    /// The channels to read, with the time.
    private func chosen(of attributes: IIOAttributes) throws(PublisherError) -> [String] {
        let all = attributes.channels
        guard let channels else { return all }
        for channel in channels where !all.contains(channel) {
            let list = all.filter { $0 != IIOScan.timestamp }.joined(separator: ", ")
            throw PublisherError(.invalidInput, "fields: \(settings.name) has no channel \(channel): it has \(list)")
        }
        return channels + all.filter { $0 == IIOScan.timestamp }
    }

    /// Sets the clock of the device's times to that of uptimes, if possible.
    private func setClock(
        in directory: FilePath, _ attributes: IIOAttributes
    ) throws(PublisherError) -> Publication.DeviceClock {
        let name = "current_timestamp_clock"
        // Without this attribute the kernel uses its oldest clock, as iio_get_time_ns did before there was a choice.
        guard let current = attributes[name] else { return .realtime }
        do throws(PublisherError) {
            try write(Publication.DeviceClock.monotonic.rawValue, to: directory.appending(name))
            return .monotonic
        } catch {
            guard let clock = Publication.DeviceClock(rawValue: current) else { throw error }
            return clock
        }
    }

    /// Sets a trigger, unless the device has one or needs none.
    /// - Returns: the trigger's directory, if there is one.
    private func setTrigger(
        of name: String, _ entry: String, in directory: FilePath
    ) throws(PublisherError) -> FilePath? {
        let path = directory.appending("trigger/current_trigger")
        guard exists(path) else {
            guard settings.trigger == nil else {
                throw PublisherError(.unreadable, "\(entry) (\(name)) takes no trigger: leave --iio-trigger out")
            }
            return nil
        }
        let triggers = entries("trigger")
        func place(_ name: String) -> FilePath? {
            triggers.first { $0.name == name }.map { devices.appending($0.entry) }
        }
        let current = text(path) ?? ""
        if settings.trigger == nil, !current.isEmpty { return place(current) }
        let number = entry.dropFirst("iio:device".count)
        let wanted = settings.trigger.map { [$0] } ?? ["\(name)-dev\(number)", "\(name)-trigger"]
        guard let chosen = wanted.first(where: { place($0) != nil }) else {
            let list = triggers.map(\.name).joined(separator: ", ")
            throw PublisherError(
                .unreadable,
                "\(entry) (\(name)) needs a trigger, and there is no \(wanted.joined(separator: " or ")): "
                    + (triggers.isEmpty ? "there is none" : "give --iio-trigger one of \(list)")
                    + "; sudo modprobe iio-trig-hrtimer && sudo mkdir /sys/kernel/config/iio/triggers/hrtimer/holdfast makes one for "
                    + "--iio-trigger holdfast")
        }
        try write(chosen, to: path, advice: "the device does not take this trigger: give another --iio-trigger")
        return place(chosen)
    }

    /// Sets the rate wherever it can be set: at the trigger and at the device.
    /// - Returns: the actual rate in Hz; nil if it is unknown.
    private func setRate(
        in directory: FilePath, _ trigger: FilePath?, _ attributes: IIOAttributes, _ channels: [String]
    ) throws(PublisherError) -> Double? {
        var files = attributes.rateFiles(of: channels).map { directory.appending($0) }
        // A timer trigger determines the rate.
        if let file = trigger?.appending("sampling_frequency"), exists(file) { files.insert(file, at: 0) }
        if let rate {
            guard !files.isEmpty else {
                throw PublisherError(
                    .invalidInput,
                    "rate: \(settings.name) has no sampling_frequency: leave --rate out, or give --iio-trigger")
            }
            for file in files {
                let name = file.lastComponent?.string ?? ""
                let known = text(directory.appending("\(name)_available"))
                try write(
                    attributes.typed(rate: rate, for: name), to: file,
                    advice: "give --rate " + (known.map { "one of \($0)" } ?? "another value"))
            }
        }
        return files.first.flatMap { text($0) }.flatMap(Double.init).flatMap { $0 > 0 ? $0 : nil } ?? rate
    }

    private func setLength(in buffer: FilePath, rate: Double?) throws(PublisherError) {
        let wanted = Int(min((rate ?? 0) * Self.bufferedSeconds, Double(Self.mostLength)))
        try write("\(max(Self.leastLength, wanted))", to: buffer.appending("length"))
        // Wake this program once for the samples of 10 ms; a device with a buffer of its own may not allow it.
        let together = max(1, Int(min((rate ?? 0) / 100, Double(Self.leastLength / 2))))
        if exists(buffer.appending("watermark")) { try? write("\(together)", to: buffer.appending("watermark")) }
    }
}
