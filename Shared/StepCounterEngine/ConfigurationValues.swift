import ArgumentParser
import Messages
import ServiceKit
import StepDetection

extension AccelerationUnit: ConfigurationValue, ExpressibleByArgument {}
extension SensorPlacement: ConfigurationValue, ExpressibleByArgument {}
extension StepStrictness: ConfigurationValue, ExpressibleByArgument {}
