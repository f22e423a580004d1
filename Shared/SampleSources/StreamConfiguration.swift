package import Messages

/// One stream of a device: the source of its samples and how they are published.
package struct StreamConfiguration: Hashable, Sendable {
    package enum Source: Hashable, Sendable {
        case signal(String)
        case points(String)
        case replay(String)
        case stdin(LineParser.Format)
        case serial(Serial)
        case iio(IIO)
        case lsl(LSL)

        /// The origin of the data unless it is stated. A program on standard input is assumed to read a sensor.
        fileprivate var origin: DataOrigin {
            switch self {
            case .signal: .simulated
            case .points, .replay: .replayed
            case .stdin, .serial, .iio, .lsl: .measured
            }
        }

        /// How late a sample's time may be, in nanoseconds, without a loss.
        ///
        /// The kernel stamps samples at their interrupt. In LSL a program often does so later: a busy machine or a garbage
        /// collector delays the stamp, and TCP loses nothing.
        package var tolerance: Int64 {
            switch self {
            case .lsl: 500_000_000
            case .signal, .points, .replay, .stdin, .serial, .iio: 0
            }
        }

    }

    /// A serial port whose device writes lines.
    package struct Serial: Hashable, Sendable {
        package let path: String
        package let format: LineParser.Format
        /// Bits a second.
        package let baud: Int

        package init(path: String, format: LineParser.Format, baud: Int) {
            self.path = path
            self.format = format
            self.baud = baud
        }
    }

    /// A device of Linux IIO.
    package struct IIO: Hashable, Sendable {
        /// The driver's name for it, or `iio:device0`.
        package let name: String
        /// The trigger's name; nil for the device's own.
        package let trigger: String?
        /// The directory that contains `sys` and `dev`.
        package let root: String

        package init(name: String, trigger: String? = nil, root: String = "/") {
            self.name = name
            self.trigger = trigger
            self.root = root
        }
    }

    /// An outlet of LSL.
    package struct LSL: Hashable, Sendable {
        /// The predicate that it must satisfy: `type='MoCap'`.
        package let query: String
        /// The hosts to ask; if empty, all that multicast reaches, and this machine.
        package let hosts: [String]

        package init(query: String, hosts: [String] = []) {
            self.query = query
            self.hosts = hosts
        }
    }

    /// The stream name that makes a stream one of device motion.
    package static let deviceMotion = "deviceMotion"
    /// The rate of a signal if none is given, in Hz.
    package static let defaultRate = 100.0
    /// The largest batch, in samples.
    package static let maximumBatch = 100_000
    /// The largest batch that is chosen by default, in samples.
    private static let largestDefaultBatch = 10_000

    package var device: String
    package var stream: String
    package var source: Source
    package var rate: Double?
    package var batch: Int?
    package var unit: String?
    package var isPacked: Bool
    package var speed: Double
    package var isLooping: Bool
    package var isRebased: Bool
    package var conversion: AccelerationUnit?
    /// The requested fields; nil for those of the source's first sample.
    package var fields: [FieldChoice.Field]?
    package var origin: DataOrigin

    /// - Parameter origin: nil for the source's default.
    /// - Throws: `invalidParameter`, naming the setting that is impossible. No file is read.
    package init(
        device: String, stream: String, source: Source, rate: Double? = nil, batch: Int? = nil, unit: String? = nil,
        isPacked: Bool = false, speed: Double = 1, isLooping: Bool = false, isRebased: Bool = false,
        conversion: AccelerationUnit? = nil, fields: [FieldChoice.Field]? = nil, origin: DataOrigin? = nil
    ) throws(PublisherError) {
        self.device = device
        self.stream = stream
        self.source = source
        self.rate = rate
        self.batch = batch
        self.unit = unit
        self.isPacked = isPacked
        self.speed = speed
        self.isLooping = isLooping
        self.isRebased = isRebased
        self.conversion = conversion
        self.fields = fields
        self.origin = origin ?? source.origin
        try validate()
    }

    package var name: StreamName { StreamName(device: device, stream: stream) }

    /// Whether samples arrive at their own pace: from standard input, a serial port, or a device.
    package var isLive: Bool {
        switch source {
        case .stdin, .serial, .iio, .lsl: true
        case .signal, .points, .replay: false
        }
    }

    /// Whether its lines come from standard input or a serial port; at most one stream may.
    package var isOfLines: Bool {
        switch source {
        case .stdin, .serial: true
        case .signal, .points, .replay, .iio, .lsl: false
        }
    }

    /// Whether it has the fields of `DeviceMotion`.
    package var isMotion: Bool { stream == Self.deviceMotion }

    /// Opens the source; nil for a live one.
    ///
    /// - Throws: `PublisherError` for a problem with the file or the signal.
    package func openSource() throws(PublisherError) -> (any SampleSource)? {
        guard let source = try openUnshaped() else { return nil }
        // Records have the right shape already.
        return isMotion && source.types == nil && source.fields != DeviceMotion.fields
            ? try DeviceMotionSource(source) : source
    }

    /// Opens the source, and reads a replayed file to its end.
    ///
    /// - Throws: `PublisherError`, naming the first unreadable line.
    package func checkSource() throws(PublisherError) {
        _ = try openSource()
        if case .replay = source { _ = try (try openUnshaped() as? ReplaySource)?.validate() }
    }

    private func openUnshaped() throws(PublisherError) -> (any SampleSource)? {
        switch source {
        case .signal(let text):
            try SignalSource(
                try signal(text), rate: rate ?? Self.defaultRate, shape: isMotion ? .deviceMotion : .axes, unit: unit)
        case .points(let path): try PointsSource(path: path, unit: unit, rate: rate)
        case .replay(let path):
            try ReplaySource(
                path: path,
                options: ReplaySource.Options(
                    rate: rate, isLooping: isLooping, isRebased: isRebased, unit: unit, conversion: conversion,
                    choice: choice))
        case .stdin, .serial, .iio, .lsl: nil
        }
    }

    /// The fields of a file, or of standard input, that are published.
    package var choice: FieldChoice {
        FieldChoice(fields: fields, isNumeric: isPacked || conversion != nil, isMotion: isMotion)
    }

    /// The number of samples in a message: as configured, or those of 10 ms.
    package func batchSize(rate: Double?) -> Int {
        if let batch { return batch }
        let perMessage = (rate ?? 0) * speed / 100
        return Int(max(1, min(perMessage.rounded(), Double(Self.largestDefaultBatch))))
    }

    /// - Throws: `invalidParameter` for a batch that is not 1 … `maximumBatch`.
    package static func validated(batch: Int) throws(PublisherError) -> Int {
        guard (1...maximumBatch).contains(batch) else {
            throw PublisherError(
                .invalidParameter, "a batch of \(batch) samples is not possible: give 1 to \(maximumBatch)")
        }
        return batch
    }

    private func signal(_ text: String) throws(PublisherError) -> Signal {
        let signal = try SignalSpecification.signal(text)
        guard let unit = unit.flatMap(AccelerationUnit.init(rawValue:)) else { return signal }
        return try signal.converted(to: unit)
    }

    private func validate() throws(PublisherError) {
        try Self.validate(name: device, of: "device")
        try Self.validate(name: stream, of: "stream")
        if let rate { _ = try SampleSchedule(rate: rate) }
        if let batch, !(1...Self.maximumBatch).contains(batch) {
            throw PublisherError(
                .invalidParameter,
                "batch: \(batch) samples in a message are not possible; give 1 to \(Self.maximumBatch)")
        }
        guard speed > 0, speed.isFinite else {
            throw PublisherError(.invalidParameter, "speed: \(speed) is not possible; give a number above 0")
        }
        try Self.validate(unit: unit)
        try validateFields()
        if case .signal(let text) = source { _ = try SignalSpecification.signal(text) }
        if case .replay = source { return }
        if isLooping || isRebased || conversion != nil {
            throw PublisherError(.invalidParameter, "loop, rebase and convert are for a replay only")
        }
        switch source {
        case .iio, .lsl:
            guard !isMotion else {
                throw PublisherError(
                    .invalidParameter, "stream: \(Self.deviceMotion) has fields of its own: give another name")
            }
        case .signal, .points, .replay, .stdin, .serial: break
        }
        if isLive, speed != 1 {
            throw PublisherError(.invalidParameter, "speed: what a device or a program writes arrives at its own speed")
        }
    }

    private func validateFields() throws(PublisherError) {
        guard fields != nil else { return }
        switch source {
        case .replay, .stdin, .serial: break
        case .iio:
            guard !choice.asksForRecords else {
                throw PublisherError(.invalidParameter, "fields: the channels of an IIO device are numbers")
            }
        case .signal, .points, .lsl:
            throw PublisherError(
                .invalidParameter, "fields are chosen for a replay, standard input, a serial port or an IIO device only"
            )
        }
        guard !isMotion else {
            throw PublisherError(.invalidParameter, "fields: a stream named \(Self.deviceMotion) has fields of its own")
        }
        guard !choice.asksForRecords || !choice.isNumeric else {
            throw PublisherError(.invalidParameter, "fields: only numbers can be packed or converted")
        }
    }

    /// - Throws: `invalidParameter` for a unit that is empty or longer than 32 bytes.
    static func validate(unit: String?) throws(PublisherError) {
        if let unit, unit.isEmpty || unit.utf8.count > 32 {
            throw PublisherError(.invalidParameter, "unit: give 1 to 32 characters, as \"g\" or \"m/s2\"")
        }
    }

    /// Names are parts of topics and of file names.
    package static func validate(name: String, of what: String) throws(PublisherError) {
        let isAllowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard isAllowed, !name.isEmpty, name.utf8.count <= 100 else {
            throw PublisherError(
                .invalidParameter,
                "\(what): \"\(name.prefix(120))\" is not a name; use 1 to 100 letters (a to z), digits, \"-\", \"_\" and \".\""
            )
        }
    }
}
