package import ArgumentParser
import ServiceKit

/// step-counter's command line.
@main
package struct StepCounterCommand: AsyncParsableCommand {
    package static let configuration = CommandConfiguration(
        commandName: Program.stepCounter.rawValue, abstract: "Counts steps.", version: Version.current)

    package init() {}
}
