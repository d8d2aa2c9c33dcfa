/* What the pieces of C programs have in common. */
#pragma once
// clang-format off: ENTER stands on the line where its function begins
#include <alloca.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define IDENTITY(...) (__VA_ARGS__)
#define TWICE(...) ((__VA_ARGS__) + (__VA_ARGS__))
#define CALL_OF(...) identity(0, __VA_ARGS__)
#define RETURN(...) return __VA_ARGS__
#define SAFE(x) ({ __typeof__(x) safe = (x); safe < 9u ? safe : identity(0, safe); })
#define LINE_OF_CALLS(...) { unsigned values[] = {__VA_ARGS__}; r += values[0]; }
#define IF_THEN(condition, ...) do { if (condition) { __VA_ARGS__; } } while (0)
#define STRINGIFIED(...) #__VA_ARGS__

struct pair {
  unsigned x, y;
};
static unsigned identity(unsigned at, unsigned a) { ENTER(0) fuzz_check(a + (at & 0u)); return a; }
static void check_at_end(const int *value) { ENTER(0) fuzz_check((unsigned)*value); }
