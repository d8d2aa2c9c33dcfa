// An exception closes the frames it passes. A function-try-block keeps its handlers under the probe, except in
// constructors and destructors, where they catch what members throw too.
#include <cstdio>
#include <stdexcept>

static void thrower(int x) { __VPROF_PROBE(0) 
  std::puts("thrower");
  if (x) throw std::runtime_error("thrown");
}

static void passes(int x) { __VPROF_PROBE(1) 
  std::puts("passes");
  thrower(x);
  std::puts("not reached");
}

static int catches() { __VPROF_PROBE(2) 
  try {
    passes(1);
  } catch (const std::exception &error) {
    return std::puts(error.what());
  }
  return 0;
}

static int whole(int x) { __VPROF_PROBE(3) try {
  std::puts("whole");
  passes(x);
  return 1;
} catch (const std::runtime_error &) {
  return std::puts("handler") + x;
} catch (...) {
  return -1;
} }

struct Member {
  explicit Member(int x) { __VPROF_PROBE(4)  thrower(x); }
  ~Member() { __VPROF_PROBE(5)  std::puts("~Member"); }
};

struct Guarded {
  Member first, second;
  explicit Guarded(int x) try : first(0), second(x) { __VPROF_PROBE(6) 
    std::puts("Guarded");
  } catch (...) {
    std::puts("constructor's handler");
  }
  ~Guarded() try { __VPROF_PROBE(7) 
    std::puts("~Guarded");
  } catch (...) {
  }
};

static void quiet() noexcept { __VPROF_PROBE(8) 
  try {
    thrower(1);
  } catch (...) {
    std::puts("quiet");
  }
}

static void rethrows() { __VPROF_PROBE(9) 
  try {
    passes(1);
  } catch (...) {
    std::puts("rethrows");
    throw;
  }
}

template <typename T>
static T generic(T x) { __VPROF_PROBE(10) try {
  thrower(1);
  return x;
} catch (const std::exception &) {
  return std::puts("generic handler") > 0 ? x : x;
} }

int main() { __VPROF_PROBE(11) try {
  catches();
  whole(1);
  quiet();
  generic(1);
  { Guarded fine(0); }
  try {
    Guarded broken(1);
  } catch (const std::runtime_error &) {
    std::puts("main");
  }
  rethrows();
  return 1;
} catch (...) {
  std::puts("end");
  return 0;
} }
