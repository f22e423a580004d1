import ArgumentParser
import Glibc
import Plain
import ZeroMQ

/// The floor: a plain loop that receives, formats and writes, see `Floor.cpp`.
struct FloorCommand: ParsableCommand {
    /// The record that the floor writes for a sample.
    enum Record: String, ExpressibleByArgument, CaseIterable, Codable, Sendable {
        /// The payload as received.
        case pass
        /// The stream's fields.
        case fields
        /// The recorder's record: timestamp, step path and sensor type too.
        case full
    }

    static let configuration = CommandConfiguration(commandName: "floor", shouldDisplay: false)

    @Option var endpoint: String
    @Option var file: String
    @Option var wire: Wire.Kind
    @Option var format: String
    @Option var record: Record
    @Option var syncInterval: Int64
    @Option var samples: Int64
    @Flag var hashes = false

    func run() throws {
        var texts: [UnsafeMutablePointer<CChar>?] = []
        defer { for text in texts { free(text) } }
        func lasting(_ text: String) -> UnsafePointer<CChar>? {
            texts.append(strdup(text))
            return texts.last.flatMap { UnsafePointer($0) }
        }
        var keys = plain_keys()
        if let server = try Keys.pair(of: "sensor-publisher"), let own = try Keys.pair(of: "recorder") {
            keys = plain_keys(
                server: lasting(server.publicKey.text), own_public: lasting(own.publicKey.text),
                own_secret: lasting(own.secretKey.text))
        }
        let fields = Wire.fields.map { lasting($0) }
        let status = fields.withUnsafeBufferPointer { fields in
            var options = plain_floor_options(
                endpoint: lasting(endpoint), file: lasting(file), keys: keys, record: record.plain,
                is_csv: format != "json", is_packed: wire == .packed, hashes: hashes, sync_interval: syncInterval,
                samples: samples, fields: fields.baseAddress, field_count: Int32(fields.count),
                step_path: lasting("\(Wire.task)/\(Wire.step)"), sensor_type: lasting("\(Wire.device)/\(Wire.stream)"))
            return plain_floor(&options)
        }
        guard status == 0 else { throw ExitCode.failure }
    }
}

extension FloorCommand.Record {
    fileprivate var plain: plain_record {
        switch self {
        case .pass: PLAIN_PASS
        case .fields: PLAIN_FIELDS
        case .full: PLAIN_FULL
        }
    }
}
