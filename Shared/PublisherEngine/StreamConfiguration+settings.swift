package import Messages
import SampleSources
package import ServiceKit

/// The settings of a stream: options for a single stream, or objects in "streams" of the configuration file for several.
///
/// Exactly one of `signal`, `points`, `replay`, `stdin`, `serial`, `iio` and `lsl` selects the source. A stream named
/// "deviceMotion" has the fields of `DeviceMotion`; IIO and LSL streams cannot have this name.
struct StreamSettings: SettingGroup {
    /// A `SignalSpecification`.
    @Setting("Generate a signal: walk, sine, noise, constant, or a sum of these.", valueName: "spec")
    var signal: String?

    @Setting("Play points from a JSON file.", valueName: "file")
    var points: String?

    @Setting("Play a recorded CSV or NDJSON file, plain or compressed with gzip.", valueName: "file")
    var replay: String?

    @Setting("Publish samples from standard input, in this format: csv or ndjson.", valueName: "format")
    var stdin: LineParser.Format?

    @Setting("Read lines from this serial port, and open it again whenever it comes back.", valueName: "port")
    var serial: String?

    @Setting("The format of the lines from the serial port: csv or ndjson.", valueName: "format")
    var format = LineParser.Format.csv

    @Setting("The serial port's rate, in bits per second.", valueName: "rate")
    var baud = 115_200

    @Setting("Sample this device of Linux IIO, by its name or as iio:device0.", valueName: "name")
    var iio: String?

    @Setting("Have this IIO trigger start each sample.", valueName: "name", default: "the device's own")
    var iioTrigger: String?

    @Setting("Look for IIO devices in sys and dev below this directory.", valueName: "dir")
    var iioRoot = "/"

    @Setting("Receive the LSL outlet that matches this query: type='MoCap'.", valueName: "query")
    var lsl: String?

    @Setting(
        "Look for the outlet on this host; may be repeated.", valueName: "host",
        default: "this machine and all that multicast reaches")
    var lslHost: [String] = []

    @Setting("The device's name; %h stands for this machine's name.")
    var device = "phone"

    @Setting("The stream's name; deviceMotion has its own fields.")
    var stream = "accelerometer"

    @Setting("Samples per second.", valueName: "hz", default: "100 for a signal, else what the file or the device has")
    var rate: Double?

    @Setting("Samples per message.", valueName: "count", default: "those of 10 ms")
    var batch: Int?

    @Setting("The unit of the values, such as g or m/s2.", default: "g for a walk")
    var unit: String?

    @Setting("Publish the values in binary, in a separate frame.")
    var packed = false

    @Setting("Play faster by this factor.", valueName: "factor")
    var speed = 1.0

    @Setting("Repeat a replay when it ends.")
    var loop = false

    @Setting("Shift a replay's times so that its first row has time 0.")
    var rebase = false

    @Setting("Convert a replay's accelerations to g or m/s2.", valueName: "unit")
    var convert: AccelerationUnit?

    @Setting(
        "Publish these fields of a replay, of standard input, or of an IIO device, with their types: label:text,lat,lon.",
        valueName: "names",
        default: "those of the first line")
    var fields: String?

    @Setting(
        "State that the data are measured, replayed or simulated.", valueName: "kind",
        default: "simulated for a signal, replayed for a file, measured for standard input and devices")
    var origin: DataOrigin?

    /// The sources that are given: exactly one, if the settings are valid.
    var sources: [StreamConfiguration.Source] {
        [
            signal.map(StreamConfiguration.Source.signal), points.map(StreamConfiguration.Source.points),
            replay.map(StreamConfiguration.Source.replay), stdin.map(StreamConfiguration.Source.stdin),
            serial.map { .serial(StreamConfiguration.Serial(path: $0, format: format, baud: baud)) },
            lsl.map { .lsl(StreamConfiguration.LSL(query: $0, hosts: lslHost)) },
            iio.map { .iio(StreamConfiguration.IIO(name: $0, trigger: iioTrigger, root: iioRoot)) },
        ].compactMap(\.self)
    }

    /// A setting that belongs to a source that is not given, and the name of that source: the setting would have no effect.
    fileprivate var misplaced: (setting: String, source: String)? {
        let needed: [(setting: String, isGiven: Bool, source: String, isThere: Bool)] = [
            ("format", $format.isGiven, "serial", serial != nil), ("baud", $baud.isGiven, "serial", serial != nil),
            ("iio-trigger", $iioTrigger.isGiven, "iio", iio != nil), ("iio-root", $iioRoot.isGiven, "iio", iio != nil),
            ("lsl-host", $lslHost.isGiven, "lsl", lsl != nil),
        ]
        return needed.first { $0.isGiven && !$0.isThere }.map { ($0.setting, $0.source) }
    }
}

extension StreamConfiguration {
    /// - Throws: `PublisherError` if the settings do not describe a stream.
    init(_ settings: StreamSettings) throws(PublisherError) {
        let sources = settings.sources
        guard sources.count == 1, let source = sources.first else {
            throw PublisherError(
                .invalidParameter,
                "give just one of signal, points, replay, stdin, serial, iio, lsl, not \(sources.count)")
        }
        if let (setting, source) = settings.misplaced {
            throw PublisherError(.invalidParameter, "\(setting) is for \(source): leave it out, or give \(source)")
        }
        try self.init(
            device: settings.device.replacing("%h", with: ThisMachine.name), stream: settings.stream, source: source,
            rate: settings.rate, batch: settings.batch, unit: settings.unit, isPacked: settings.packed,
            speed: settings.speed, isLooping: settings.loop, isRebased: settings.rebase,
            conversion: settings.convert,
            fields: try settings.fields.map { (text) throws(PublisherError) in try FieldChoice.fields(text) },
            origin: settings.origin)
    }
}

extension LineParser.Format: ConfigurationValue {}
extension AccelerationUnit: ConfigurationValue {}

extension DataOrigin: ConfigurationValue {
    /// Reads one of the three origins that a publisher may state.
    package init(typed text: String) throws(InvalidValue) {
        let known = [DataOrigin.measured, .replayed, .simulated]
        guard let origin = known.first(where: { $0.rawValue == text }) else {
            throw InvalidValue("'\(text)' is not an origin: write measured, replayed or simulated")
        }
        self = origin
    }
}
