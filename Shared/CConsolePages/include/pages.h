#ifndef HOLDFAST_CCONSOLEPAGES_PAGES_H
#define HOLDFAST_CCONSOLEPAGES_PAGES_H

#include <stddef.h>

/// A file of the console's page, as it was when the program was built.
struct holdfast_page {
    const char *name;
    const unsigned char *bytes;
    size_t count;
};

/// The file of an index from 0; NULL behind the last.
const struct holdfast_page *holdfast_page(size_t index);

#endif
