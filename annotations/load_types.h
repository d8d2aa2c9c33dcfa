// The types of transactions that `vprof load` puts on a server: one list for both sides, in C and C++.
//
//   workloads/ -> "/* new_order */ BEGIN" -> server -> `type` of a target's [[interval]] entry: "new_order"
//
// Only names of this list get into a trace, whatever else users write in their statements.
#ifndef VPROF_LOAD_TYPES_H
#define VPROF_LOAD_TYPES_H

#include <stddef.h>
#include <string.h>

#define VPROF_TPCC_TYPES(TYPE) TYPE(new_order) TYPE(payment) TYPE(order_status) TYPE(delivery) TYPE(stock_level)
#define VPROF_TATP_READS(TYPE) TYPE(get_subscriber_data) TYPE(get_new_destination) TYPE(get_access_data)
#define VPROF_TATP_UPDATES(TYPE) TYPE(update_subscriber_data) TYPE(update_location)
#define VPROF_TATP_FORWARDING(TYPE) TYPE(insert_call_forwarding) TYPE(delete_call_forwarding)
#define VPROF_TATP_TYPES(TYPE) VPROF_TATP_READS(TYPE) VPROF_TATP_UPDATES(TYPE) VPROF_TATP_FORWARDING(TYPE)
#define VPROF_YCSB_TYPES(TYPE) TYPE(read) TYPE(update) TYPE(insert) TYPE(scan) TYPE(read_modify_write)
#define VPROF_OTHER_TYPES(TYPE) TYPE(select_1) TYPE(lock) /* noop; zipf_locks, which has an `update`, too */
#define VPROF_LOAD_TYPES(TYPE) \
  VPROF_TPCC_TYPES(TYPE) VPROF_TATP_TYPES(TYPE) VPROF_YCSB_TYPES(TYPE) VPROF_OTHER_TYPES(TYPE)

/* The type that the comment at the beginning of a statement names, or NULL. `sql` may be NULL. */
static inline const char *vprof_load_type(const char *sql) {
#define VPROF_LOAD_TYPE_NAME(name) #name,
  static const char *const names[] = {VPROF_LOAD_TYPES(VPROF_LOAD_TYPE_NAME) NULL};
#undef VPROF_LOAD_TYPE_NAME
  if (!sql || strncmp(sql, "/* ", 3) != 0) return NULL;
  for (const char *const *name = names; *name; name++) {
    const size_t length = strlen(*name);
    if (strncmp(sql + 3, *name, length) == 0 && strncmp(sql + 3 + length, " */", 3) == 0) return *name;
  }
  return NULL;
}

#endif
