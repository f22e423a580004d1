package import ArgumentParser

/// The options that every program shares with its subcommands.
package struct ServiceOptions: ParsableArguments {
    @OptionGroup package var settings: SettingFlags<ServiceSettings>

    package init() {}

    /// The command line's values, for the configuration.
    package var flags: FlagValues { settings.flags }
}
