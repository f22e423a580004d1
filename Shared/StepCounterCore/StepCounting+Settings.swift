package import Messages
package import StepDetection

extension StepCounting {
    package struct Settings: Sendable {
        /// What is configured for one device, or for all.
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
        /// The names of streams that steps are counted in.
        package var streams: [String]
        package var common = Device()
        package var devices: [String: Device] = [:]
        package var strictness = StepStrictness.normal
        /// How old steps in the history may be, in nanoseconds.
        package var keep: Int64
        package var maximumDevices: Int
        /// How many bytes may wait in memory while missing samples are replayed.
        package var holdLimit: Int
        /// How many steps wait in memory while the history can't be written: some hours of a hundred people, 8 MB.
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

        /// How steps are detected in a device's stream.
        /// - Parameter unit: matters to a detector alone.
        package func detector(
            of device: String, unit: AccelerationUnit = .metresPerSecondSquared
        ) -> StepDetectorSettings {
            StepDetectorSettings(
                perG: unit.perG, placement: self.device(device).placement ?? .unknown, strictness: strictness)
        }
    }
}
