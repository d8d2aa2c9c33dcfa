// A wrapper around a function of the C library, and the way to the real one.
//
//     VPROF_INTERPOSE(int, sem_post, (sem_t * semaphore), (semaphore)) { ... real_sem_post(semaphore) ... }
//
// In libvprof.so the wrapper has the function's own name, which comes before libc's in the program's lookup order, and
// the real one is looked up by dlsym(RTLD_NEXT). In libvprof.a (VPROF_STATIC) it is `__wrap_NAME`: vprof-cc links
// static programs with --wrap=NAME for each wrapper there is, and the real one is `__real_NAME`. So the wrappers are
// the one list. Functions that have no wrapper are called by their names.
//
// Not seen either way: calls that libc makes itself.
#ifndef VPROF_INTERPOSE_H
#define VPROF_INTERPOSE_H

namespace vprof {

// The real function behind `pointer`, before main for all (real_functions.cpp): a look-up is not safe in a signal
// handler.
struct RealFunction {
  void **pointer;
  const char *name;
  const char *version;  // null: the default one
};

void look_up(const RealFunction &function);

// A function that libvprof.so exports under the name of a library's that may not be there: found when it is first
// called.
struct LibraryFunction {
  const char *name;
  void *ours;
  void *real;

  void *find();  // null: there is none
};

}  // namespace vprof

#define VPROF_WRAPPER(type, name, parameters, label)                                                     \
  extern "C" __attribute__((visibility("default"))) type vprof_wrapped_##name parameters __asm__(label); \
  extern "C" type vprof_wrapped_##name parameters

#ifdef VPROF_STATIC
#define VPROF_LABEL(name) "__wrap_" name
#define VPROF_INTERPOSE_VERSION(version, type, name, parameters, arguments) \
  extern "C" type real_##name parameters __asm__("__real_" #name);          \
  VPROF_WRAPPER(type, name, parameters, VPROF_LABEL(#name))
#else
#define VPROF_LABEL(name) name
// Each real function's pointer first leads to one that looks it up: a constructor of another library, or a malloc, may
// call before ours has run.
#define VPROF_INTERPOSE_VERSION(version, type, name, parameters, arguments)                    \
  static type first_##name parameters;                                                         \
  static type(*real_##name) parameters = first_##name;                                         \
  __attribute__((section("vprof_real"), used)) static vprof::RealFunction looked_up_##name = { \
      reinterpret_cast<void **>(&real_##name), #name, version};                                \
  static type first_##name parameters {                                                        \
    vprof::look_up(looked_up_##name);                                                          \
    return real_##name arguments;                                                              \
  }                                                                                            \
  VPROF_WRAPPER(type, name, parameters, VPROF_LABEL(#name))
#endif

#define VPROF_INTERPOSE(type, name, parameters, arguments) \
  VPROF_INTERPOSE_VERSION(nullptr, type, name, parameters, arguments)

#endif
