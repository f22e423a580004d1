/// The commit from which the programs were built, if the build received HOLDFAST_COMMIT (see Package.swift); NULL otherwise.
const char *_Nullable holdfast_commit(void);
