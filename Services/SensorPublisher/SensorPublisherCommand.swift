package import ArgumentParser
package import PublisherEngine
import SampleSources
import SensorReaders
package import ServiceKit
package import ZeroMQ

@main
package struct SensorPublisherCommand: ServiceCommand {
    package static let program = Program.sensorPublisher
    package static let configuration = commandConfiguration(
        abstract: "Sample sensors, generated signals, files or standard input, and publish the samples.",
        discussion: "Configure one stream with options, or several with \"streams\" in a configuration file.")

    @OptionGroup package var options: ProgramOptions

    @OptionGroup package var settings: SettingFlags<PublisherSettings>

    package init() {}

    package static func publishingOptions(_ settings: PublisherSettings) -> SocketOptions {
        var options = SocketOptions.publishing
        options.sendHighWaterMark = settings.highWaterMark
        return options
    }

    package static func check(_ settings: PublisherSettings, _ configuration: ServiceConfiguration) async throws {
        for stream in settings.streams {
            do {
                try stream.checkSource()
                if case .serial(let serial) = stream.source { _ = try SerialPort(serial) }
            } catch {
                throw ServiceError(error)
            }
        }
    }

    package static func start(_ settings: PublisherSettings, on host: ServiceHost) async throws -> RunningService {
        try await .sensorPublisher(settings, on: host)
    }
}
