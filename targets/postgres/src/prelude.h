/* Seen first by every file of the backend's build, for the entries of target.toml in xact.c. */
#ifndef VPROF_POSTGRES_PRELUDE_H
#define VPROF_POSTGRES_PRELUDE_H

#include "load_types.h"

extern const char *debug_query_string; /* what the client sent last; NULL between statements */

/* The type that the open transaction began with, or NULL. A backend has one transaction at a time. */
static const char *vprof_begun_type __attribute__((unused));

/* For lock.c: what a heavyweight lock is of, 0 if that is neither a user's relation nor a row or a transaction id. Of
 * the eight modes those conflict with themselves and with each other that are no less than the strongest of a
 * statement. */
#define VPROF_LOCK_OBJECT(tag)                                                                                           \
  ((tag)->locktag_type == LOCKTAG_TRANSACTION    ? UINT64CONST(1) << 63 | (tag)->locktag_field1                          \
   : (tag)->locktag_field2 < FirstNormalObjectId ? 0                                                                     \
   : (tag)->locktag_type == LOCKTAG_RELATION     ? UINT64CONST(3) << 62 | (tag)->locktag_field2                          \
   : (tag)->locktag_type == LOCKTAG_TUPLE        ? UINT64CONST(5) << 61 | (uint64)(tag)->locktag_field2 % 524288 << 42 | \
                                                (uint64)(tag)->locktag_field3 % 67108864 << 16 | (tag)->locktag_field4   \
                                          : 0)
#define VPROF_LOCK_MODE(tag, mode) \
  ((mode) >= ((tag)->locktag_type == LOCKTAG_RELATION ? ShareUpdateExclusiveLock : ExclusiveLock))

#endif
