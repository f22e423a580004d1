#ifndef HOLDFAST_CPHONEPAGES_PAGES_H
#define HOLDFAST_CPHONEPAGES_PAGES_H

#include <stddef.h>

/// A file of the page for phones, as it was when the program was built.
struct holdfast_phone_page {
    const char *path;
    const char *type;
    const unsigned char *bytes;
    size_t count;
};

/// The file of an index from 0; NULL behind the last.
const struct holdfast_phone_page *holdfast_phone_page(size_t index);

#endif
