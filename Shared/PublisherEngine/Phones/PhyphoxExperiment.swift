import SampleSources

/// The experiment that makes a phone with phyphox send its sensors to this program: a `.phyphox` file.
///
/// phyphox.org/wiki: "Phyphox file format", "Network Connections". phyphox cannot number its requests, and forgets a failed one.
/// Therefore the buffers keep the last seconds (`keep="true"`), each request sends them all, and duplicates are recognised by
/// their times. One less than `window / interval` consecutive requests may fail without a loss.
struct PhyphoxExperiment: Sendable {
    /// A sensor of phyphox and the name of its stream.
    private struct Sensor {
        let type: String
        let stream: String
        let title: String
        let unit: String
    }

    /// Samples a second requested from the phone.
    private static let rate = 100
    /// Seconds that the buffers keep at that rate. Phones with a higher rate fill them sooner.
    private static let window = 12
    /// Seconds between requests.
    private static let interval = 2
    private static let fields = ["x", "y", "z"]
    private static let sensors = [
        Sensor(type: "accelerometer", stream: "accelerometer", title: "Acceleration with g", unit: "m/s²"),
        Sensor(type: "linear_acceleration", stream: "userAcceleration", title: "Acceleration without g", unit: "m/s²"),
        Sensor(type: "gyroscope", stream: "gyroscope", title: "Gyroscope", unit: "rad/s"),
    ]

    let isSecure: Bool
    /// The host and port at which others reach this program.
    let place: String
    let token: String?

    /// The link that a phone opens: phyphox downloads the file from it.
    var link: String { "phyphox://\(place)/phyphox\(token.map { "?token=\($0)" } ?? "")" }

    /// - Parameters:
    ///   - host: the host and port that the phone used. It differs from `place` behind another web server.
    ///   - device: the phone's device name; nil for its own identifier.
    func file(for host: String?, device: String?) -> String {
        var arguments: [String] = []
        if let token { arguments.append("token=\(token)") }
        if let device { arguments.append("device=\(device)") }
        let query = arguments.isEmpty ? "" : "?\(arguments.joined(separator: "&"))"
        let address = "\(isSecure ? "https" : "http")://\(Self.valid(host) ?? place)/phyphox\(query)"
        let buffers = Self.sensors.flatMap { sensor in (["t"] + Self.fields).map { "\(sensor.stream)_\($0)" } }
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <phyphox version="1.14" locale="en">
              <title>Holdfast</title>
              <category>Holdfast</category>
              <color>blue</color>
              <description>Sends the motion sensors of this phone to \(Self.escaped(host ?? place)), which publishes and records them. Press play \
            to begin, and leave this page open. After \(Self.window - Self.interval) seconds without the network, samples are lost.</description>
              <data-containers>
            \(Self.lines(buffers) { #"    <container size="\#(Self.rate * Self.window)">\#($0)</container>"# })
              </data-containers>
              <input>
            \(Self.lines(Self.sensors, Self.input))
              </input>
              <views>
                <view label="Motion">
            \(Self.lines(Self.sensors, Self.graph))
                </view>
              </views>
              <network>
                <connection id="holdfast" address="\(Self.escaped(address))" service="http/post" conversion="none" \
            interval="\(Self.interval)" autoConnect="true">
                  <send id="\(UnnumberedSamples.phyphoxDevice)" type="meta">uniqueID</send>
                  <send id="\(UnnumberedSamples.phyphoxClock)" type="time"/>
            \(Self.lines(buffers) { #"      <send id="\#($0)" type="buffer" keep="true">\#($0)</send>"# })
                </connection>
              </network>
              <export>
            \(Self.lines(Self.sensors, Self.export))
              </export>
            </phyphox>

            """
    }

    private static func lines<Element>(_ elements: [Element], _ line: (Element) -> String) -> String {
        elements.map(line).joined(separator: "\n")
    }

    private static func input(of sensor: Sensor) -> String {
        let outputs = (fields + ["t"]).map { #"<output component="\#($0)">\#(sensor.stream)_\#($0)</output>"# }.joined()
        return #"    <sensor type="\#(sensor.type)" rate="\#(rate)" ignoreUnavailable="true">\#(outputs)</sensor>"#
    }

    private static func graph(of sensor: Sensor) -> String {
        let inputs = fields.map {
            #"<input axis="x">\#(sensor.stream)_t</input><input axis="y">\#(sensor.stream)_\#($0)</input>"#
        }.joined()
        return
            #"      <graph label="\#(sensor.title)" labelX="t" unitX="s" labelY="x, y, z" unitY="\#(sensor.unit)" partialUpdate="true">\#(inputs)</graph>"#
    }

    private static func export(of sensor: Sensor) -> String {
        let data =
            [#"<data name="Time (s)">\#(sensor.stream)_t</data>"#]
            + fields.map { #"<data name="\#($0) (\#(sensor.unit))">\#(sensor.stream)_\#($0)</data>"# }
        return #"    <set name="\#(sensor.title)">\#(data.joined())</set>"#
    }

    /// A host and port as a browser writes them; nil for any other text.
    private static func valid(_ host: String?) -> String? {
        guard let host, !host.isEmpty, host.utf8.count <= 300,
            host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".:-[]".contains($0)) })
        else { return nil }
        return host
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
            .replacing("\"", with: "&quot;")
    }
}
