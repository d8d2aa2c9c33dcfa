/* txn_type.h: what kinds of transactions there are. */
#ifndef MINIDB_TXN_TYPE_H
#define MINIDB_TXN_TYPE_H

enum txn_type { TXN_TRANSFER, TXN_DEPOSIT, TXN_STATEMENT, TXN_BATCH, TXN_TYPES };

#endif
