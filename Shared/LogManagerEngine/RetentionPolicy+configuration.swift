import ArgumentParser
import LogManagerCore
import ServiceKit

extension RetentionPolicy: ConfigurationValue, ExpressibleByArgument {}
