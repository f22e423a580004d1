import ArgumentParser
import Messages
import ServiceKit

extension AccelerationUnit: ConfigurationValue, ExpressibleByArgument {}
