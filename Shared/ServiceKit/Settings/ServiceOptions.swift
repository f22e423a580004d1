package import ArgumentParser

/// The options that every program and its subcommands have.
package struct ServiceOptions: ParsableArguments {
    @OptionGroup package var settings: SettingFlags<ServiceSettings>

    @Flag(help: "Check the configuration and the state on disk, then exit.")
    package var check = false

    package init() {}

    /// What was given, for the configuration.
    package var flags: FlagValues { settings.flags }
}
