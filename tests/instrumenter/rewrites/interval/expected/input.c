// Semantic intervals: the descriptor's expressions are pasted and evaluated at entry, for exit hooks too.
#include <stdio.h>

struct txn {
  unsigned long id;
  const char *name;
};

static void txn_begin(struct txn *txn) { __VPROF_PROBE(0) __VPROF_TYPED_ENTRY(interval_0, interval_begin, (txn->id), (txn->name))  puts(txn->name); }

static void txn_end(struct txn *txn) { __VPROF_PROBE(1) __VPROF_TYPED_EXIT(interval_1, interval_end_typed, (txn->id), (txn->name)) 
  txn->id = 0;
  puts("end");
}

static void txn_abort(unsigned id) { __VPROF_PROBE(2) __VPROF_ENTRY(interval_2, interval_abort, (id)) __VPROF_TYPED_EXIT(interval_4, interval_begin, (id + 1), 0)  printf("abort %u\n", id); }

static void work_for(const struct txn *txn) { __VPROF_PROBE(3) __VPROF_ENTRY(interval_3, on_behalf, (txn ? txn->id : 0)) 
  if (!txn) return;
  puts("work");
}

int main(void) { __VPROF_PROBE_CALLS(4) 
  struct txn txn = {7, "new_order"};
  txn_begin(&txn);
  (__VPROF_CALL_NUMBER(1), work_for(&txn));
  (__VPROF_CALL_NUMBER(2), work_for(NULL));
  txn_end(&txn);
  txn_abort(8);
  return 0;
}
