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

/* For heapam.c: a row, whichever of its versions `tuple` is, by its relation and its primary key; without one by the
 * version's place, which is another after each update; 0 if the relation is no user's. Of the key a hash is kept.
 * REQUIRES: the tuple's page is pinned and locked; VPROF_LOAD_KEY before that, or what it does. */
#define VPROF_ROW(relation, tuple)                                                                                   \
  ({                                                                                                                 \
    uint64 vprof_row = RelationGetRelid(relation) < FirstNormalObjectId ? 0 : RelationGetRelid(relation);            \
    if (vprof_row && !(relation)->rd_pkattr)                                                                         \
      vprof_row = VPROF_MIXED(VPROF_MIXED(vprof_row, ItemPointerGetBlockNumberNoCheck(&(tuple)->t_self)),            \
                              ItemPointerGetOffsetNumberNoCheck(&(tuple)->t_self));                                  \
    for (int vprof_k = -1; vprof_row && (vprof_k = bms_next_member((relation)->rd_pkattr, vprof_k)) >= 0;) {         \
      const AttrNumber vprof_column = vprof_k + FirstLowInvalidHeapAttributeNumber;                                  \
      const Form_pg_attribute vprof_type = TupleDescAttr(RelationGetDescr(relation), vprof_column - 1);              \
      bool vprof_null;                                                                                               \
      const Datum vprof_value = heap_getattr(tuple, vprof_column, RelationGetDescr(relation), &vprof_null);          \
      if (!vprof_null && !(vprof_type->attlen == -1 && VARATT_IS_EXTERNAL(DatumGetPointer(vprof_value))))            \
        vprof_row = VPROF_MIXED(vprof_row, datum_image_hash(vprof_value, vprof_type->attbyval, vprof_type->attlen)); \
    }                                                                                                                \
    vprof_row ? UINT64CONST(1) << 62 | vprof_row >> 2 : 0;                                                           \
  })
#define VPROF_MIXED(hash, more) (((hash) ^ (more)) * UINT64CONST(0x9E3779B97F4A7C15))

/* Has the relation's descriptor know the primary key, for which the catalog may have to be read. No object. */
#define VPROF_LOAD_KEY(relation)                    \
  (RelationGetRelid(relation) < FirstNormalObjectId \
       ? 0                                          \
       : (bms_free(RelationGetIndexAttrBitmap(relation, INDEX_ATTR_BITMAP_PRIMARY_KEY)), 0))

#endif
