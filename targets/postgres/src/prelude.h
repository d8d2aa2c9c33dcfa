/* Seen first by every file of the backend's build, for the entries of target.toml in xact.c. */
#ifndef VPROF_POSTGRES_PRELUDE_H
#define VPROF_POSTGRES_PRELUDE_H

#include "load_types.h"

extern const char *debug_query_string; /* what the client sent last; NULL between statements */

/* The type that the open transaction began with, or NULL. A backend has one transaction at a time. */
static const char *vprof_begun_type __attribute__((unused));

#endif
