import ArgumentParser
import ServiceKit
import StepDetection

extension SensorPlacement: ConfigurationValue, ExpressibleByArgument {}
extension StepStrictness: ConfigurationValue, ExpressibleByArgument {}
