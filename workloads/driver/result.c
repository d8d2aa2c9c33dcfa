#include "result.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

#include "client.h"
#include "clock.h"

/* Bytes of the character of UTF-8 that begins here; 0: none does. Overlong ones pass, which JSON's readers do not mind.
 */
static int character_bytes(const char *text) {
  const unsigned char first = (unsigned char)*text;
  const int bytes = first < 0x80 ? 1 : first < 0xc2 ? 0 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : first < 0xf5 ? 4 : 0;
  for (int i = 1; i < bytes; i++) {
    if (((unsigned char)text[i] & 0xc0) != 0x80) return 0;
  }
  return bytes;
}

static void print_string(const char *text) {
  putchar('"');
  while (*text) {
    const int bytes = character_bytes(text);
    if (bytes == 0) {
      fputs("\\ufffd", stdout);
    } else if ((unsigned char)*text < ' ' || *text == 127) {
      printf("\\u%04x", (unsigned char)*text);
    } else {
      if (*text == '"' || *text == '\\') putchar('\\');
      fwrite(text, 1, (size_t)bytes, stdout);
    }
    text += bytes ? bytes : 1;
  }
  putchar('"');
}

static void print_text(const char *key, const char *value) {
  printf(", \"%s\": ", key);
  if (value && *value) {
    print_string(value);
  } else {
    printf("null");
  }
}

static void print_integer(const char *key, int64_t value) {
  printf(", \"%s\": %" PRId64, key, value);
}

/* A number as it was typed, not more digits of it. */
static void print_number(const char *key, double value) {
  printf(", \"%s\": %.15g", key, value);
}

static void print_types(const struct workload *workload) {
  printf(", \"types\": [");
  for (size_t i = 0; i < workload->type_count; i++) {
    print_string(workload->types[i].name);
    printf(", ");
  }
  printf("\"[lateness]\"]");
}

static int64_t realtime_of(int64_t monotonic_ns) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * NS_PER_S + now.tv_nsec - (now_ns() - monotonic_ns);
}

static int64_t peak_rss_kb(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

static void print_asked(const struct driver_options *options) {
  const struct load_options *load = &options->load;
  print_text("on", load->server.kind == DB_POSTGRES ? "postgres" : "mysql");
  print_integer("clients", load->clients);
  print_integer("scale", load->scale);
  printf(", \"seed\": %" PRIu64, load->seed);
  print_text("isolation", load->isolation);
  print_text("mix", load->mix);
  if (options->workload->theta > 0) print_number("theta", load->theta);
  if (options->workload->writes > 0) print_number("writes", load->writes);
  if (options->rate > 0) {
    print_number("rate", options->rate);
    print_text("arrivals", options->even ? "even" : "poisson");
  } else {
    print_text("rate", NULL);
    print_text("arrivals", NULL);
  }
  print_number("think_ms", options->think_ms);
  print_integer("tries", options->tries);
  print_number("warmup_s", options->warmup);
  print_number("seconds", options->seconds);
}

static void print_measured(const struct run *run) {
  int64_t retries = 0, lost = 0;
  for (int i = 0; i < run->thread_count; i++) {
    retries += run->threads[i].counted_retries;
    lost += run->threads[i].lost;
  }
  print_integer("begin_ns", run->begin_ns);
  print_integer("end_ns", run->end_ns);
  print_integer("begin_realtime_ns", realtime_of(run->begin_ns));
  print_integer("cpu_ns", run->cpu_ns);
  print_integer("retries", retries);
  print_integer("lost_connections", lost);
  print_text("first_error", run->first_error);
  print_text("cut_short", run->cut_short);
  printf(", \"interrupted\": %s", run->interrupted ? "true" : "false");
  print_integer("peak_rss_kb", peak_rss_kb());
}

void result_print(const struct run *run) {
  printf("{\"schema\": \"vprof-load-run/1\", \"workload\": ");
  print_string(run->options->workload->name);
  print_text("server", run->server);
  print_asked(run->options);
  print_types(run->options->workload);
  print_measured(run);
  printf("}\n");
  fflush(stdout);
}
