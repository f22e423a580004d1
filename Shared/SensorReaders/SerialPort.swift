import Glibc
package import SampleSources
package import SystemPackage

/// A serial port whose device writes lines.
package struct SerialPort: Sendable {
    /// The baud rates that Linux has constants for.
    private static let speeds: [Int: speed_t] = [
        1_200: speed_t(B1200), 2_400: speed_t(B2400), 4_800: speed_t(B4800), 9_600: speed_t(B9600),
        19_200: speed_t(B19200), 38_400: speed_t(B38400), 57_600: speed_t(B57600), 115_200: speed_t(B115200),
        230_400: speed_t(B230400), 460_800: speed_t(B460800), 921_600: speed_t(B921600),
        1_000_000: speed_t(B1000000), 2_000_000: speed_t(B2000000),
    ]

    let path: String
    private let speed: speed_t

    /// - Throws: `invalidParameter` for an unsupported baud rate.
    package init(_ serial: StreamConfiguration.Serial) throws(PublisherError) {
        guard let speed = Self.speeds[serial.baud] else {
            let known = Self.speeds.keys.sorted().map(String.init).joined(separator: ", ")
            throw PublisherError(.invalidParameter, "baud: \(serial.baud) is not possible; give one of \(known)")
        }
        self.speed = speed
        path = serial.path
    }

    /// Opens it in raw mode, without blocking.
    package func open() throws(PublisherError) -> FileDescriptor {
        do {
            let file = try FileDescriptor.open(
                path, .readOnly, options: [.nonBlocking, .closeOnExec, FileDescriptor.OpenOptions(rawValue: O_NOCTTY)])
            var settings = termios()
            guard tcgetattr(file.rawValue, &settings) == 0 else { throw Self.failure(closing: file) }
            cfmakeraw(&settings)
            settings.c_cflag |= tcflag_t(CREAD | CLOCAL)
            cfsetspeed(&settings, speed)
            guard tcsetattr(file.rawValue, TCSANOW, &settings) == 0 else { throw Self.failure(closing: file) }
            return file
        } catch {
            throw problem("can't be opened", error)
        }
    }

    private static func failure(closing file: FileDescriptor) -> Errno {
        let failure = Errno(rawValue: errno)
        try? file.close()
        return failure
    }

    package func problem(_ what: String, _ error: any Error) -> PublisherError {
        let advice =
            switch error as? Errno {
            case .permissionDenied?: "add this program's user to the group that owns it, often dialout"
            case Errno(rawValue: ENOTTY)?: "give --serial a serial port, such as /dev/ttyUSB0"
            default: "check whether the device is plugged in; it is reopened when it is back"
            }
        return PublisherError(.unreadable, "\(path) \(what): \(error); \(advice)")
    }
}
