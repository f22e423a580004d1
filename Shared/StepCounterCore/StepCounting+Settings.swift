package import Messages
package import StepDetection

extension StepCounting {
    package struct Settings: Sendable {
        /// The configuration of one device, or of all.
        package struct Device: Sendable {
            package var placement: SensorPlacement?
            package var unit: AccelerationUnit?
            /// In metres.
            package var strideLength: Double?

            package init(
                placement: SensorPlacement? = nil, unit: AccelerationUnit? = nil, strideLength: Double? = nil
            ) {
                self.placement = placement
                self.unit = unit
                self.strideLength = strideLength
            }
        }

        /// The publishers' endpoints, for people.
        package var publishers: String
        /// The names of streams in which steps are counted.
        package var streams: [String]
        package var common = Device()
        package var devices: [String: Device] = [:]
        package var strictness = StepStrictness.normal
        /// The maximum age of steps in the history, in nanoseconds.
        package var keep: Int64
        package var maximumDevices: Int
        /// The most bytes held in memory while missing samples are replayed.
        package var holdLimit: Int
        /// The most steps held in memory while the history cannot be written: some hours of a hundred people, 8 MB.
        package var maximumPending = 1_000_000

        package init(publishers: String, streams: [String], keep: Int64, maximumDevices: Int, holdLimit: Int) {
            self.publishers = publishers
            self.streams = streams
            self.keep = keep
            self.maximumDevices = maximumDevices
            self.holdLimit = holdLimit
        }

        package func device(_ name: String) -> Device {
            let own = devices[name]
            return Device(
                placement: own?.placement ?? common.placement, unit: own?.unit ?? common.unit,
                strideLength: own?.strideLength ?? common.strideLength)
        }

        /// The settings of a device's detector.
        /// - Parameter unit: the unit of the stream; needed only to run a detector.
        package func detector(
            of device: String, unit: AccelerationUnit = .metresPerSecondSquared
        ) -> StepDetectorSettings {
            StepDetectorSettings(
                perG: unit.perG, placement: self.device(device).placement ?? .unknown, strictness: strictness)
        }
    }
}
