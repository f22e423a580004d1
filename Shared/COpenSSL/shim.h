#ifndef HOLDFAST_COPENSSL_SHIM_H
#define HOLDFAST_COPENSSL_SHIM_H

// OpenSSL 3 deprecates hashes whose state is a plain value. Stream files are hashed with them, because copying the state needs no
// allocation.
#define OPENSSL_SUPPRESS_DEPRECATED

#include <openssl/bio.h>
#include <openssl/cms.h>
#include <openssl/err.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/md5.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

// Wrappers for OpenSSL's macros, which Swift cannot see.

static inline int holdfast_bio_flush(BIO *bio) { return BIO_flush(bio); }

static inline int holdfast_bio_reset(BIO *bio) { return BIO_reset(bio); }

static inline long holdfast_bio_memory(BIO *bio, const char **bytes) { return BIO_get_mem_data(bio, bytes); }

// Sets what an empty memory BIO returns: -1 if more bytes may come, 0 if none will.
static inline void holdfast_bio_set_end(BIO *bio, int answer) { BIO_set_mem_eof_return(bio, answer); }

// A BIO with a copy of these bytes, which can be reset to the beginning. BIO_new_mem_buf would keep reading the caller's bytes,
// and those of an array may be gone after the call.
static inline BIO *holdfast_bio_copy(const void *bytes, int count) {
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio == NULL) return NULL;
    if (BIO_write(bio, bytes, count) != count) {
        BIO_free(bio);
        return NULL;
    }
    BIO_set_flags(bio, BIO_FLAGS_NONCLEAR_RST);
    BIO_set_mem_eof_return(bio, 0);
    return bio;
}

// Whether the last error is that no further entry begins in a PEM file.
static inline int holdfast_pem_is_at_end(void) {
    unsigned long error = ERR_peek_last_error();
    return ERR_GET_LIB(error) == ERR_LIB_PEM && ERR_GET_REASON(error) == PEM_R_NO_START_LINE;
}

static inline int holdfast_bio_should_retry(BIO *bio) { return BIO_should_retry(bio); }

static inline EVP_PKEY *holdfast_p256_key(void) { return EVP_EC_gen("P-256"); }

static inline int holdfast_bio_cipher_is_ok(BIO *bio) { return BIO_get_cipher_status(bio) > 0; }

#endif
