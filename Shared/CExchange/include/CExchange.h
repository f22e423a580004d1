/// renameat2(2) with RENAME_EXCHANGE, which glibc declares for GNU programs alone, and Swift does not see.

#ifndef HOLDFAST_CEXCHANGE_H
#define HOLDFAST_CEXCHANGE_H

/// Gives each of two paths the other's name, at once. Returns 0, or -1 with errno.
int holdfast_exchange(const char *_Nonnull one, const char *_Nonnull other);

#endif
