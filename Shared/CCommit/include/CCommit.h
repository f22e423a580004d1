/// The commit that the programs were built of, where the build was told of it: see HOLDFAST_COMMIT in Package.swift. NULL elsewhere.
const char *_Nullable holdfast_commit(void);
