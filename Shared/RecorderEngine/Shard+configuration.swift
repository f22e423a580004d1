import ArgumentParser
package import Recording
package import ServiceKit

extension Shard: ConfigurationValue, ExpressibleByArgument {
    package init(typed text: String) throws(InvalidValue) {
        guard let shard = Shard(rawValue: text) else {
            throw InvalidValue("'\(text)' is not a part of a whole: write 2/3 for the second of three")
        }
        self = shard
    }

    package init?(argument: String) { self.init(rawValue: argument) }
}
