#ifndef HOLDFAST_CCURL_SHIM_H
#define HOLDFAST_CCURL_SHIM_H

// The type checks are macros around the variadic functions; each function here has a fixed type. Deprecated options are used for
// older libraries that lack their replacements.
#define CURL_DISABLE_TYPECHECK 1
#define CURL_DISABLE_DEPRECATION 1
#include <curl/curl.h>

// curl_easy_setopt(3) and curl_easy_getinfo(3) are variadic, so Swift cannot call them.

static inline CURLcode holdfast_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_offset(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_text(CURL *handle, CURLoption option, const char *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_list(CURL *handle, CURLoption option, struct curl_slist *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode holdfast_curl_set_error_buffer(CURL *handle, char *buffer) {
    return curl_easy_setopt(handle, CURLOPT_ERRORBUFFER, buffer);
}

static inline CURLcode holdfast_curl_set_reader(CURL *handle, curl_read_callback read, void *context) {
    curl_easy_setopt(handle, CURLOPT_READDATA, context);
    return curl_easy_setopt(handle, CURLOPT_READFUNCTION, read);
}

static inline CURLcode holdfast_curl_set_seeker(CURL *handle, curl_seek_callback seek, void *context) {
    curl_easy_setopt(handle, CURLOPT_SEEKDATA, context);
    return curl_easy_setopt(handle, CURLOPT_SEEKFUNCTION, seek);
}

static inline CURLcode holdfast_curl_set_writer(CURL *handle, curl_write_callback write, void *context) {
    curl_easy_setopt(handle, CURLOPT_WRITEDATA, context);
    return curl_easy_setopt(handle, CURLOPT_WRITEFUNCTION, write);
}

static inline CURLcode holdfast_curl_set_header_writer(CURL *handle, curl_write_callback write, void *context) {
    curl_easy_setopt(handle, CURLOPT_HEADERDATA, context);
    return curl_easy_setopt(handle, CURLOPT_HEADERFUNCTION, write);
}

static inline CURLcode holdfast_curl_set_progress(CURL *handle, curl_xferinfo_callback progress, void *context) {
    curl_easy_setopt(handle, CURLOPT_NOPROGRESS, 0L);
    curl_easy_setopt(handle, CURLOPT_XFERINFODATA, context);
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
}

static inline long holdfast_curl_long(CURL *handle, CURLINFO info) {
    long value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

static inline curl_off_t holdfast_curl_offset(CURL *handle, CURLINFO info) {
    curl_off_t value = 0;
    curl_easy_getinfo(handle, info, &value);
    return value;
}

#endif
