#ifndef HOLDFAST_CISAL_SHIM_H
#define HOLDFAST_CISAL_SHIM_H

#include <isa-l/crc.h>
#include <isa-l/igzip_lib.h>
#include <malloc.h>
#include <stdlib.h>

// Swift can't see all of `struct isal_zstream`, which has large arrays in it; these do what has to do with its fields.
// Level 1: the higher ones are slower and make this kind of data no smaller.

// A deflate stream, to be freed with holdfast_deflate_free; NULL where there is no memory.
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

// Begins a new raw deflate stream.
static inline void holdfast_deflate_reset(struct isal_zstream *stream) {
    uint8_t *buffer = stream->level_buf;
    isal_deflate_init(stream);
    stream->level = 1;
    stream->level_buf = buffer;
    stream->level_buf_size = ISAL_DEF_LVL1_DEFAULT;
    stream->gzip_flag = IGZIP_DEFLATE;
    stream->flush = NO_FLUSH;
}

// Gives the stream its next bytes, which must stay until they are compressed.
static inline void holdfast_deflate_feed(
    struct isal_zstream *stream, const void *bytes, uint32_t count, int is_last) {
    stream->next_in = (uint8_t *)bytes;
    stream->avail_in = count;
    stream->end_of_stream = is_last != 0;
}

// Compresses into a buffer. Returns how many bytes are in it: as many as fit while there is more to come.
static inline uint32_t holdfast_deflate_step(struct isal_zstream *stream, void *buffer, uint32_t capacity) {
    stream->next_out = buffer;
    stream->avail_out = capacity;
    isal_deflate(stream);
    return capacity - stream->avail_out;
}

#endif
