#include "mix.h"

#include <stdlib.h>
#include <string.h>

static int find_type(const struct workload *workload, const char *name, size_t length) {
  for (size_t i = 0; i < workload->type_count; i++) {
    const char *candidate = workload->types[i].name;
    if (strlen(candidate) == length && strncmp(candidate, name, length) == 0) return (int)i;
  }
  return -1;
}

static const char *parse_weights(double *weights, const struct workload *workload, const char *text) {
  while (*text) {
    const size_t length = strcspn(text, "=,");
    const int type = find_type(workload, text, length);
    if (type < 0) return "names another type";
    if (text[length] != '=') return "must look like A=45,B=55";
    char *end;
    weights[type] = strtod(text + length + 1, &end);
    if (end == text + length + 1 || (*end && *end != ',')) return "must look like A=45,B=55";
    if (!(weights[type] >= 0 && weights[type] <= 1e9)) return "has a weight that is not from 0 to 1e9";
    text = *end ? end + 1 : end;
  }
  return NULL;
}

const char *mix_parse(struct mix *mix, const struct workload *workload, const char *text) {
  double weights[MIX_MAX_TYPES] = {0}, sum = 0;
  mix->type_count = workload->type_count;
  for (size_t i = 0; i < mix->type_count && !text; i++) weights[i] = workload->types[i].weight;
  const char *wrong = text ? parse_weights(weights, workload, text) : NULL;
  if (wrong) return wrong;
  for (size_t i = 0; i < mix->type_count; i++) mix->up_to[i] = sum += weights[i];
  if (sum <= 0) return "gives no type a weight";
  for (size_t i = 0; i < mix->type_count; i++) mix->up_to[i] /= sum;
  return NULL;
}

size_t mix_draw(const struct mix *mix, struct random *random) {
  const double drawn = random_unit(random);
  size_t type = 0;
  while (type + 1 < mix->type_count && drawn >= mix->up_to[type]) type++;
  return type;
}
