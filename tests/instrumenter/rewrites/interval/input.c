// Semantic intervals: the descriptor's expressions are pasted and evaluated at entry, for exit hooks too.
#include <stdio.h>

struct txn {
  unsigned long id;
  const char *name;
};

static void txn_begin(struct txn *txn) { puts(txn->name); }

static void txn_end(struct txn *txn) {
  txn->id = 0;
  puts("end");
}

static void txn_abort(unsigned id) { printf("abort %u\n", id); }

static void work_for(const struct txn *txn) {
  if (!txn) return;
  puts("work");
}

int main(void) {
  struct txn txn = {7, "new_order"};
  txn_begin(&txn);
  work_for(&txn);
  work_for(NULL);
  txn_end(&txn);
  txn_abort(8);
  return 0;
}
