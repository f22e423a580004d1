#ifndef HOLDFAST_CISAL_SHIM_H
#define HOLDFAST_CISAL_SHIM_H

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <malloc.h>
#include <stdlib.h>

// Swift cannot see all of `struct isal_zstream`, which contains large arrays; these functions access its fields. Level 1: higher
// levels are slower and make this kind of data no smaller.

// A deflate stream, to be freed with holdfast_deflate_free; NULL if there is no memory.
static inline struct isal_zstream *holdfast_deflate_new(void) {
    struct isal_zstream *stream = malloc(sizeof *stream);
    uint8_t *buffer = malloc(ISAL_DEF_LVL1_DEFAULT);
    if (stream == NULL || buffer == NULL) {
        free(stream);
        free(buffer);
        return NULL;
    }
    stream->level_buf = buffer;
    return stream;
}

static inline void holdfast_deflate_free(struct isal_zstream *stream) {
    free(stream->level_buf);
    free(stream);
}

static inline void holdfast_deflate_reset(struct isal_zstream *stream) {
    uint8_t *buffer = stream->level_buf;
    isal_deflate_init(stream);
    stream->level = 1;
    stream->level_buf = buffer;
    stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    stream->gzip_flag = IGZIP_DEFLATE;
    stream->flush = NO_FLUSH;
}

// Sets the next input bytes, which must stay valid until they are compressed.
static inline void holdfast_deflate_feed(
    struct isal_zstream *stream, const void *bytes, uint32_t count, int is_last) {
    stream->next_in = (uint8_t *)bytes;
    stream->avail_in = count;
    stream->end_of_stream = is_last != 0;
}

// Compresses into a buffer and returns the number of bytes written. A full buffer means that more output may follow.
static inline uint32_t holdfast_deflate_step(struct isal_zstream *stream, void *buffer, uint32_t capacity) {
    stream->next_out = buffer;
    stream->avail_out = capacity;
    isal_deflate(stream);
    return capacity - stream->avail_out;
}

#endif
