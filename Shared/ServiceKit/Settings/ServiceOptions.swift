package import ArgumentParser

/// The options of every program and its subcommands.
package struct ServiceOptions: ParsableArguments {
    @OptionGroup package var settings: SettingFlags<ServiceSettings>

    @Flag(help: "Check the configuration and the state on disk, then exit.")
    package var check = false

    package init() {}

    /// The command line's values, for the configuration.
    package var flags: FlagValues { settings.flags }
}
