package import ArgumentParser

/// The options of every program.
package struct ProgramOptions: ParsableArguments {
    @OptionGroup package var shared: ServiceOptions

    @Flag(help: "Check the configuration and the state on disk, then exit.")
    package var check = false

    package init() {}

    /// The command line's values, for the configuration.
    package var flags: FlagValues { shared.flags }
}
