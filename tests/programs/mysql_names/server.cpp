// What the entries of targets/mysql need of MySQL: its names, in a program of ours. Built by
// tests/cli/test_mysql_versions.py as 5.7 (C++03, -DOLD) and as 8.0: one connection, whose client's statements are in
// `main`.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum enum_server_command { COM_SLEEP, COM_QUERY, COM_STMT_EXECUTE };
enum enum_sql_command { SQLCOM_SELECT, SQLCOM_BEGIN, SQLCOM_COMMIT, SQLCOM_ROLLBACK, SQLCOM_END };
enum { SERVER_STATUS_IN_TRANS = 1 };
struct PSI_statement_info {
  const char *m_name;
};
PSI_statement_info sql_statement_info[SQLCOM_END + 1] = {{"select"}, {"begin"}, {"commit"}, {"rollback"}, {"error"}};
struct LEX {
  enum_sql_command sql_command;
};

struct Prepared_statement {
#ifdef OLD
  LEX *lex;
#else
  LEX *m_lex;
#endif
};

struct Prepared_statement_map {
  Prepared_statement statements[SQLCOM_END];
  Prepared_statement *find(unsigned long id) { return id < SQLCOM_END ? &statements[id] : 0; }
};

union COM_DATA {
  struct {
    const char *query;
  } com_query;
  struct {
    unsigned long stmt_id;
  } com_stmt_execute;
};

class THD {
 public:
  unsigned server_status;
  LEX *lex;
  Prepared_statement_map stmt_map;
  bool failed;
  unsigned thread_id() const { return 7; }
  bool is_error() const { return failed; }
};

// InnoDB's lock of a row.
enum dberr_t { DB_SUCCESS, DB_DEADLOCK };
enum { LOCK_TABLE = 16, LOCK_REC = 32 };
struct table_name_t {
  const char *m_name;
};
struct lock_t {
  unsigned type;
  table_name_t table;
};
struct lock_list {
  lock_t *first, *last;
};
#define UT_LIST_GET_FIRST(list) (list).first
#define UT_LIST_GET_LAST(list) (list).last
struct trx_lock_t {
  unsigned wait_lock_type;
  lock_list trx_locks;
};
struct trx_t {
  dberr_t error_state;
  trx_lock_t lock;
};
struct que_thr_t {
  trx_t *trx;
};
static trx_t *thr_get_trx(que_thr_t *thr) {
  return thr->trx;
}
static unsigned lock_get_type(const lock_t *lock) {
  return lock->type;
}
static const table_name_t &lock_get_table_name(const lock_t *lock) {
  return lock->table;
}
static const char *lock_rec_get_index_name(const lock_t *) {
  return "PRIMARY";
}
#ifdef OLD
static unsigned long lock_rec_get_page_no(const lock_t *) {
  return 4;
}
#else
struct page_id_t {
  unsigned page_no() const { return 4; }
};
static page_id_t lock_rec_get_page_id(const lock_t *) {
  return page_id_t();
}
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t granted = PTHREAD_COND_INITIALIZER;
static int waiting;

// Whether the connection's thread, the program's first, sleeps.
static bool is_asleep() {
  char path[64], state = 0;
  sprintf(path, "/proc/self/task/%d/stat", int(getpid()));
  FILE *file = fopen(path, "r");
  const bool is_read = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
  if (file) fclose(file);
  return is_read && state == 'S';
}

static void *grant_to_sleepers(void *) {
  for (;;) {
    usleep(500);
    pthread_mutex_lock(&mutex);
    const bool is_asked = waiting;
    pthread_mutex_unlock(&mutex);
    if (!is_asked) continue;
    while (!is_asleep()) usleep(100);
    usleep(500);
    pthread_mutex_lock(&mutex);
    waiting = 0;
    pthread_cond_signal(&granted);
    pthread_mutex_unlock(&mutex);
  }
}

static void wait_for_others() {
  pthread_mutex_lock(&mutex);
  for (waiting = 1; waiting;) pthread_cond_wait(&granted, &mutex);
  pthread_mutex_unlock(&mutex);
}

static void lock_wait_suspend_thread(que_thr_t *) {
  wait_for_others();
}
bool row_mysql_handle_errors(dberr_t *, trx_t *, que_thr_t *thr) {
  lock_wait_suspend_thread(thr);
  return true;
}
dberr_t row_ins_check_foreign_constraint(que_thr_t *thr) {
  lock_wait_suspend_thread(thr);
  return DB_SUCCESS;
}
dberr_t row_update_cascade_for_mysql(que_thr_t *thr) {
  lock_wait_suspend_thread(thr);
  return DB_SUCCESS;
}
static void trx_flush_log_if_needed_low(unsigned long) {
  wait_for_others();
}
static void trx_flush_log_if_needed(unsigned long lsn) {
  trx_flush_log_if_needed_low(lsn);
}
static void log_buffer_flush_to_disk(bool) {
  wait_for_others();
}
bool innobase_flush_logs(bool group) {
  log_buffer_flush_to_disk(group);
  return false;
}

// The binary log's group commit.
#ifdef OLD
struct Stage_manager {
  bool enroll_for(int) {
    wait_for_others();
    return false;
  }
} stage_manager;
#else
struct Commit_stage_manager {
  static Commit_stage_manager &get_instance() {
    static Commit_stage_manager one;
    return one;
  }
  bool enroll_for(int) {
    wait_for_others();
    return false;
  }
};
#endif
struct MYSQL_BIN_LOG {
  bool change_stage(int stage) {
#ifdef OLD
    if (!stage_manager.enroll_for(stage)) return true;
#else
    if (!Commit_stage_manager::get_instance().enroll_for(stage)) return true;
#endif
    return false;
  }
};

static lock_t table = {LOCK_TABLE, {"shop/stock"}}, row = {LOCK_REC, {"shop/orders"}};

static void get_row() {
  trx_t trx = {DB_SUCCESS, {LOCK_REC, {&table, &row}}};
  que_thr_t thr = {&trx};
  dberr_t error;
  row_mysql_handle_errors(&error, &trx, &thr);
}

static void commit() {
  MYSQL_BIN_LOG().change_stage(0);
  innobase_flush_logs(true);
  trx_flush_log_if_needed(1);
}

static enum_sql_command parsed(const char *text) {
  return strstr(text, "BEGIN")      ? SQLCOM_BEGIN
         : strstr(text, "COMMIT")   ? SQLCOM_COMMIT
         : strstr(text, "ROLLBACK") ? SQLCOM_ROLLBACK
                                    : SQLCOM_SELECT;
}

bool dispatch_command(THD *thd, const COM_DATA *data, enum enum_server_command command) {
  enum_sql_command what;
  if (command == COM_QUERY)
    what = thd->lex->sql_command = parsed(data->com_query.query);
  else
    what = static_cast<enum_sql_command>(data->com_stmt_execute.stmt_id);
  if (what == SQLCOM_SELECT) get_row();
  if (what == SQLCOM_COMMIT) commit();
  thd->server_status = what == SQLCOM_BEGIN || (what == SQLCOM_SELECT && thd->server_status);
  return false;
}

struct Request {
  const char *text;  // NULL: prepared
  enum_sql_command prepared;
};

bool do_command(THD *thd, const Request &request) {
  enum enum_server_command command = request.text ? COM_QUERY : COM_STMT_EXECUTE;
  COM_DATA com_data;
  if (request.text)
    com_data.com_query.query = request.text;
  else
    com_data.com_stmt_execute.stmt_id = request.prepared;
  const bool failed = dispatch_command(thd, &com_data, command);
  return failed;
}

int main(int, char **arguments) {
  // In a transaction, alone, given up as prepared statement, given up as text.
  const Request requests[] = {{"/* new_order */ BEGIN", SQLCOM_END},
                              {0, SQLCOM_SELECT},
                              {"COMMIT", SQLCOM_END},
                              {0, SQLCOM_SELECT},
                              {"BEGIN", SQLCOM_END},
                              {0, SQLCOM_ROLLBACK},
                              {"BEGIN", SQLCOM_END},
                              {"ROLLBACK", SQLCOM_END}};
  LEX lex = {SQLCOM_END}, prepared[SQLCOM_END];
  THD thd = {0, &lex, Prepared_statement_map(), false};
  for (int command = 0; command < SQLCOM_END; command++) {
    prepared[command].sql_command = static_cast<enum_sql_command>(command);
#ifdef OLD
    thd.stmt_map.statements[command].lex = &prepared[command];
#else
    thd.stmt_map.statements[command].m_lex = &prepared[command];
#endif
  }
  pthread_t granter;
  pthread_create(&granter, 0, grant_to_sleepers, 0);
  for (int round = atoi(arguments[1]); round > 0; round--)
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++) do_command(&thd, requests[i]);
  return 0;
}
