// What the pieces of C++ programs have in common.
#pragma once
// clang-format off: ENTER stands on the line where its function begins
#include <cstdio>
#include <exception>

#include "fuzz.h"

#define IDENTITY(...) (__VA_ARGS__)
#define TWICE(...) ((__VA_ARGS__) + (__VA_ARGS__))
#define CALL_OF(...) identity(0, __VA_ARGS__)
#define RETURN(...) return __VA_ARGS__
#define LINE_OF_CALLS(...) { unsigned values[] = {__VA_ARGS__}; r += values[0]; }
#define IF_THEN(condition, ...) do { if (condition) { __VA_ARGS__; } } while (0)
#define STRINGIFIED(...) #__VA_ARGS__

struct Base_fault {
  virtual ~Base_fault() { ENTER(0) fuzz_check(9); }
  virtual unsigned code() const { ENTER(0) fuzz_check(8); return 8; }
};
struct Fault : Base_fault {
  unsigned value;
  explicit Fault(unsigned a) : value(a) { ENTER(0) fuzz_check(a); }
  Fault(const Fault &other) : Base_fault(other), value(other.value) { ENTER(0) fuzz_check(value); }
  unsigned code() const override { ENTER(0) fuzz_check(value); return value + 1; }
};
struct Worse_fault final : virtual Base_fault {
  unsigned value;
  explicit Worse_fault(unsigned a) : value(a) { ENTER(0) fuzz_check(a); }
  unsigned code() const final { ENTER(0) return value ^ Base_fault::code(); }
};
struct Guard {
  unsigned value;
  explicit Guard(unsigned a) : value(a) { ENTER(0) fuzz_check(a); }
  Guard(const Guard &other) : Guard(other.value + 1) { ENTER(0) }
  ~Guard() { ENTER(0) fuzz_check(value); }
};
inline unsigned identity(unsigned at, unsigned a) { ENTER(at) fuzz_check(a); return a; }
inline void throw_if(bool wanted) { ENTER(0) if (wanted) throw Fault(1); }
constexpr unsigned folded(unsigned a) { return a < 2 ? a : a + folded(a - 1) / 2 + (a == 4) * 3; }
template <typename F> unsigned guarded(F &&function) { ENTER(0) try { return function(); } catch (const Base_fault &fault) { return fault.code(); } }
