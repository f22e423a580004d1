/// renameat2(2) with RENAME_EXCHANGE. glibc declares it only with _GNU_SOURCE, so Swift does not see it.

#ifndef HOLDFAST_CEXCHANGE_H
#define HOLDFAST_CEXCHANGE_H

/// Exchanges two paths atomically. Returns 0, or -1 with errno.
int holdfast_exchange(const char *_Nonnull one, const char *_Nonnull other);

#endif
