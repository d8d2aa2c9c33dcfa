/* What a probe expands to: the fixed part of the text that vprof-rewrite puts before a translation unit.
 *
 * The unit's own part (its switch bytes as __vprof_sw, its metadata) is put before this text, see Prelude.h.
 * Guarantees: only names that begin with __vprof or __VPROF are declared, and vprof_text, nothing is included, no
 * warning and no debug information comes from here (system header, nodebug), and it compiles in every dialect of C and
 * C++. runtime/abi/PROBE_ABI.md is the contract.
 *
 * An off probe is one byte test at entry and one at exit. What they lead to is cold and keeps nearly all registers, so
 * that it costs the hot path no spill.
 */
#pragma GCC system_header

#ifdef __cplusplus
extern "C" {
#endif

struct __vprof_probe {
  volatile unsigned char *sw;
  void *frame;
};

#define __VPROF_INLINE_AND(...) \
  extern __inline__ __attribute__((__gnu_inline__, __always_inline__, __nothrow__, __VA_ARGS__))

#ifdef __clang__
#define __VPROF_INLINE __VPROF_INLINE_AND(__nodebug__)

/* Clang would keep the byte in a register from entry on, across calls as well (memcmp). */
#define __VPROF_BYTE_AT_EXIT volatile unsigned char
#else
#define __VPROF_INLINE __VPROF_INLINE_AND(__artificial__, __no_instrument_function__)

/* Reads a volatile byte by an instruction of its own. Without that it may know the byte from entry, but only if that
 * did not call: then there is nothing to leave. */
#define __VPROF_BYTE_AT_EXIT unsigned char
#endif

#ifdef __aarch64__
/* The cold parts call with all arguments in registers that no function's arguments or results are in (PROBE_ABI.md
 * "Calls on aarch64"), and the compiler is told of the registers that the called change: it sees no call. A leaf
 * function keeps its return address on the stack, though. */
#define __VPROF_CALL_KEEPING_MOST(target) ".weak " target "\n\t.hidden " target "\n\tbl " target
#define __VPROF_CHANGED "cc", "memory", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x30"

/* Where the calls of this invocation are numbered. */
__VPROF_INLINE unsigned short *__vprof_entered(volatile unsigned char *sw, void *frame) {
  unsigned short *call;
  __asm__ __inline__ __volatile__(
      "mov x9, %2\n\tmov x10, %3\n\t" __VPROF_CALL_KEEPING_MOST("__vprof_at_entry") "\n\tmov %0, x9"
      : "=r"(call), "=m"(*(char *)frame)
      : "r"(sw), "r"(frame)
      : __VPROF_CHANGED);
  return call;
}
__VPROF_INLINE void __vprof_left(void *frame) {
  __asm__ __inline__ __volatile__("mov x10, %1\n\t" __VPROF_CALL_KEEPING_MOST("__vprof_at_exit")
                                  : "=m"(*(char *)frame)
                                  : "r"(frame)
                                  : __VPROF_CHANGED);
}
#else
/* The cold parts call below the red zone, which the called undo (PROBE_ABI.md "Calls"): the compiler sees no call, so
 * that a leaf function stays one, and nothing is saved around them. Their registers carry no argument, and at exit no
 * result. The addresses are those of memory operands, which need no register outside of the assembly. A call, for the
 * CPU knows where it returns: a jump back, the same for all functions of a module, it predicts wrongly. */
#define __VPROF_CALL_BELOW(target) \
  ".weak " target "\n\t.hidden " target "\n\tadd{q $-128, %%rsp| rsp, -128}\n\tcall " target

/* Where calls are told apart by where they return to (__VPROF_RETURNS), a probe in a body says that of its function; in
 * a copy of the body, which is expanded in a caller, that is of the caller. */
#ifdef __VPROF_RETURNS
#define __VPROF_AT_ENTRY(set) "mov{q %%rax, %%r11| r11, rax}\n\t" set __VPROF_CALL_BELOW("__vprof_at_entry_called")
#define __VPROF_RETURNS_TO , "0"(__builtin_return_address(0))
#else
#define __VPROF_AT_ENTRY(set) set __VPROF_CALL_BELOW("__vprof_at_entry")
#define __VPROF_RETURNS_TO
#endif

/* Where the calls of this invocation are numbered. */
__VPROF_INLINE unsigned short *__vprof_entered(volatile unsigned char *sw, void *frame) {
  void *call;
  __asm__ __inline__ __volatile__(__VPROF_AT_ENTRY("lea{q %2, %%rax| rax, %2}\n\tlea{q %1, %%r10| r10, %1}\n\t")
                                  : "=&a"(call), "=m"(*(char *)frame)
                                  : "m"(*sw)__VPROF_RETURNS_TO
                                  : "cc", "memory", "r10", "r11");
  return (unsigned short *)call;
}
__VPROF_INLINE void __vprof_left(void *frame) {
  __asm__ __inline__ __volatile__("lea{q %0, %%r10| r10, %0}\n\t" __VPROF_CALL_BELOW("__vprof_at_exit")
                                  : "=m"(*(char *)frame)
                                  :
                                  : "cc", "memory", "r10", "r11");
}
#endif

/* The entry test reads without volatile, so that it is one instruction; nothing can be known of the byte anyway. */
__VPROF_INLINE struct __vprof_probe __vprof_in(unsigned int site, void *frame) {
  struct __vprof_probe probe;
  probe.sw = &__vprof_sw[site];
  probe.frame = frame;
  if (__builtin_expect(*(unsigned char *)probe.sw == 1, 0)) __vprof_entered(probe.sw, frame);
  return probe;
}

__VPROF_INLINE struct __vprof_probe __vprof_in_caller(unsigned int site, unsigned short *frame,
                                                      volatile unsigned short **call) {
  struct __vprof_probe probe;
  probe.sw = &__vprof_sw[site];
  probe.frame = frame;
  if (__builtin_expect(*(unsigned char *)probe.sw == 1, 0)) *call = __vprof_entered(probe.sw, frame);
  return probe;
}

__VPROF_INLINE void __vprof_out(const struct __vprof_probe *probe) {
  if (__builtin_expect(*(__VPROF_BYTE_AT_EXIT *)probe->sw, 0)) __vprof_left(probe->frame);
}

/* Goes behind the brace of a function. Declarations only, so that C89's may follow. */
#define __VPROF_PROBE(i)                                 \
  char __vprof_frame __attribute__((__uninitialized__)); \
  const struct __vprof_probe __vprof_probe_ __attribute__((__cleanup__(__vprof_out))) = __vprof_in(i, &__vprof_frame);

/* As __VPROF_PROBE, for a function that numbers its calls: __vprof_call is where, the frame variable itself while the
 * probe is off. That variable is larger than its number: a stack of 8 bytes is given back by a pop, which would wait
 * for the number's store (4 ns). */
#define __VPROF_PROBE_CALLS(i)                                                          \
  unsigned short __vprof_frame[8] __attribute__((__uninitialized__));                   \
  volatile unsigned short *__vprof_call = __vprof_frame;                                \
  const struct __vprof_probe __vprof_probe_ __attribute__((__cleanup__(__vprof_out))) = \
      __vprof_in_caller(i, __vprof_frame, &__vprof_call);

/* Goes before a numbered call: the calls that follow, until the next number, are made at place k (1..1023),
 * or nobody knows where (0). */
#define __VPROF_CALL_NUMBER(k) ((void)(*__vprof_call = (k)))

#ifdef __VPROF_SWITCH
/* A probe before the body (PROBE_ABI.md "Probes before the body"): the function begins with a no-op of 5 bytes, which
 * one store can change (src/shared_text.h: hence the alignment). The body begins with a place, which takes no
 * instruction and goes wherever a copy of the body goes. A declaration, so that C89's may follow. The sections are in
 * the function's group. The record of the place is a section of its own, which only the function's refers to: the
 * linker keeps both or none (--gc-sections). */
#define __VPROF_STARTED __attribute__((__patchable_function_entry__(5, 0), __aligned__(16)))
#ifdef __clang__
#define __VPROF_EXPANDABLE __VPROF_STARTED
#define __VPROF_NOT_SEEN __attribute__((__unused__, __nodebug__))
#else
/* Copies for certain arguments have others than the type says. */
#define __VPROF_EXPANDABLE __VPROF_STARTED __attribute__((__noclone__))
#define __VPROF_NOT_SEEN __attribute__((__unused__))
#endif
#define __VPROF_WRAPPED __VPROF_EXPANDABLE __attribute__((__noinline__))
#define __VPROF_WRAPPED_RECURSIVE __VPROF_WRAPPED __attribute__((__disable_tail_calls__))
#define __VPROF_PLACE(i)                                                                                            \
  const int __vprof_place_ __VPROF_NOT_SEEN = __extension__({                                                       \
    __asm__ __inline__ __volatile__(                                                                                \
        ".Lvprof_place%=:\n"                                                                                        \
        "\t.reloc .Lvprof_place%=, R_X86_64_NONE, .Lvprof_record%=\n"                                               \
        "\t.pushsection .bss.vprof_pairs,\"aw?\",@nobits\n\t.balign 16\n.Lvprof_pair%=:\n\t.zero 16\n"              \
        "\t.popsection\n\t.pushsection .text.vprof_stubs,\"ax?\",@progbits\n\t.balign 4\n.Lvprof_stub%=:\n"         \
        "\tlea{q .Lvprof_pair%=(%%rip), %%r11| r11, [rip + .Lvprof_pair%=]}\n"                                      \
        "\t.weak __vprof_wrapper\n\t.hidden __vprof_wrapper\n\tjmp __vprof_wrapper\n.Lvprof_end%=:\n"               \
        "\t.popsection\n\t.pushsection .eh_frame,\"a\",@unwind\n\t.long 20\n.Lvprof_frame%=:\n"                     \
        "\t.long .Lvprof_frame%= - .Lvprof_frames, .Lvprof_stub%= - ., .Lvprof_end%= - .Lvprof_stub%=\n\t.zero 8\n" \
        "\t.popsection\n\t.pushsection vprof_places,\"a?\",@progbits,unique,%=\n.Lvprof_record%=:\n"                \
        "\t.long .Lvprof_place%= - ., " __VPROF_SWITCH "+" #i                                                       \
        " - ., .Lvprof_stub%= - ., .Lvprof_pair%= - .\n"                                                            \
        "\t.popsection\n"                                                                                           \
        :                                                                                                           \
        :);                                                                                                         \
    0;                                                                                                              \
  });

/* What is common to the frame descriptions of the unit's stubs, which move nothing. */
__asm__(
    ".pushsection .eh_frame,\"a\",@unwind\n.balign 8\n.Lvprof_frames:\n.long 20, 0\n.byte 1\n.asciz \"zR\"\n"
    ".byte 1, 0x78, 16, 1, 0x1b, 0x0c, 7, 8, 0x90, 1, 0, 0\n.popsection\n");
#endif

/* Descriptor hooks: calls of vprof/vprof.h under names of our own, so that the program may include that header. */
typedef unsigned long __vprof_u64;
struct __vprof_typed_args {
  __vprof_u64 id;
  const char *type;
};

#define __VPROF_CALL(name)                                                                                  \
  extern void __vprof_c_##name(__vprof_u64) __asm__("vprof_" #name) __attribute__((__weak__, __nothrow__)); \
  __VPROF_INLINE int __vprof_do_##name(__vprof_u64 x) {                                                     \
    if (__vprof_c_##name) __vprof_c_##name(x);                                                              \
    return 0;                                                                                               \
  }                                                                                                         \
  __VPROF_INLINE void __vprof_exit_##name(const __vprof_u64 *x) {                                           \
    __vprof_do_##name(*x);                                                                                  \
  }

__VPROF_CALL(interval_end)
__VPROF_CALL(interval_abort)
__VPROF_CALL(on_behalf)
__VPROF_CALL(enqueue)
__VPROF_CALL(dequeue)
__VPROF_CALL(wait_begin)
__VPROF_CALL(wait_end)
__VPROF_CALL(wake)
__VPROF_CALL(wake_done)

#define __VPROF_TYPED_CALL(name)                                                   \
  extern void __vprof_c_##name(__vprof_u64, const char *) __asm__("vprof_" #name)  \
      __attribute__((__weak__, __nothrow__));                                      \
  __VPROF_INLINE int __vprof_do_##name(__vprof_u64 id, const char *type) {         \
    if (__vprof_c_##name) __vprof_c_##name(id, type);                              \
    return 0;                                                                      \
  }                                                                                \
  __VPROF_INLINE void __vprof_exit_##name(const struct __vprof_typed_args *args) { \
    __vprof_do_##name(args->id, args->type);                                       \
  }

__VPROF_TYPED_CALL(interval_begin)
__VPROF_TYPED_CALL(interval_end_typed)

/* Names of waits. vprof_text goes into descriptors' expressions, so it has its own name. */
extern __vprof_u64 __vprof_c_waits(void) __asm__("vprof_waits") __attribute__((__weak__, __nothrow__));
extern int __vprof_c_unnamed_since(__vprof_u64) __asm__("vprof_unnamed_since") __attribute__((__weak__, __nothrow__));
extern void __vprof_c_name_waits(__vprof_u64, const char *) __asm__("vprof_name_waits")
    __attribute__((__weak__, __nothrow__));
extern const char *vprof_text(const char *, ...) __attribute__((__weak__, __format__(__printf__, 1, 2)));
__VPROF_INLINE __vprof_u64 __vprof_waits(void) {
  return __vprof_c_waits ? __vprof_c_waits() : 0;
}
__VPROF_INLINE int __vprof_unnamed_since(__vprof_u64 waits) {
  return __vprof_c_unnamed_since && __vprof_c_unnamed_since(waits);
}

/* The begin of a request that was created earlier, at a time of a clock. */
struct __vprof_created_args {
  __vprof_u64 id;
  const char *type;
  __vprof_u64 at;
  int clock;
};
extern void __vprof_c_interval_begin_created(__vprof_u64, const char *, __vprof_u64,
                                             int) __asm__("vprof_interval_begin_created")
    __attribute__((__weak__, __nothrow__));
__VPROF_INLINE int __vprof_do_created(__vprof_u64 id, const char *type, __vprof_u64 at, int clock) {
  if (__vprof_c_interval_begin_created) __vprof_c_interval_begin_created(id, type, at, clock);
  return 0;
}
__VPROF_INLINE void __vprof_exit_created(const struct __vprof_created_args *args) {
  __vprof_do_created(args->id, args->type, args->at, args->clock);
}
__VPROF_INLINE struct __vprof_created_args __vprof_created(__vprof_u64 id, const char *type, __vprof_u64 at,
                                                           int clock) {
  struct __vprof_created_args args;
  args.id = id;
  args.type = type;
  args.at = at;
  args.clock = clock;
  return args;
}

__VPROF_INLINE struct __vprof_typed_args __vprof_typed(__vprof_u64 id, const char *type) {
  struct __vprof_typed_args args;
  args.id = id;
  args.type = type;
  return args;
}

/* A step of a logical lock (vprof.h); none if it is negative. */
struct __vprof_lock_args {
  int step;
  int mode;
  __vprof_u64 object;
  __vprof_u64 owner;
};
extern void __vprof_c_lock(int, __vprof_u64, int, __vprof_u64) __asm__("vprof_lock")
    __attribute__((__weak__, __nothrow__));
__VPROF_INLINE int __vprof_do_lock(int step, __vprof_u64 object, int mode, __vprof_u64 owner) {
  if (__vprof_c_lock) __vprof_c_lock(step, object, mode, owner);
  return 0;
}
__VPROF_INLINE void __vprof_exit_lock(const struct __vprof_lock_args *args) {
  if (args->step >= 0) __vprof_do_lock(args->step, args->object, args->mode, args->owner);
}
__VPROF_INLINE struct __vprof_lock_args __vprof_lock(int step, __vprof_u64 object, int mode, __vprof_u64 owner) {
  struct __vprof_lock_args args;
  args.step = step;
  args.mode = mode;
  args.object = object;
  args.owner = owner;
  return args;
}

/* Whether the session wants them: a byte of the module's header, PROBE_ABI.md "Switch bytes". */
extern volatile unsigned char __vprof_header[] __asm__("__start_vprof_switch")
    __attribute__((__weak__, __visibility__("hidden")));
__VPROF_INLINE int __vprof_wants_locks(void) {
  return __builtin_expect(__vprof_header != 0 && __vprof_header[12], 0);
}

/* A task made of a returned value: 0 (NULL, or a function left without return) is none. */
__VPROF_INLINE int __vprof_do_enqueue_any(__vprof_u64 task) {
  return task ? __vprof_do_enqueue(task) : 0;
}
__VPROF_INLINE int __vprof_do_dequeue_any(__vprof_u64 task) {
  return task ? __vprof_do_dequeue(task) : 0;
}
__VPROF_INLINE void __vprof_exit_returned(const __vprof_u64 *task) {
  __vprof_do_dequeue_any(*task);
}

#ifdef __cplusplus
}
#endif

#define __VPROF_UNUSED __attribute__((__unused__))
#define __VPROF_EXITS(f) __attribute__((__cleanup__(__vprof_exit_##f)))

/* n keeps the names of several hooks of one function apart; x is the descriptor's expression. */
#define __VPROF_ENTRY(n, f, x) const int __vprof_hook_##n __VPROF_UNUSED = __vprof_do_##f((__vprof_u64)(x));
#define __VPROF_EXIT(n, f, x) const __vprof_u64 __vprof_hook_##n __VPROF_EXITS(f) = (__vprof_u64)(x);
#define __VPROF_AROUND(n, f, g, x) \
  __VPROF_EXIT(n, g, x)            \
  const int __vprof_hook_in_##n __VPROF_UNUSED = __vprof_do_##f(__vprof_hook_##n);
/* With an id of 0 nothing begins or ends: what else the descriptor says of it, such as a name behind a null pointer, is
 * not evaluated.
 */
#define __VPROF_ID(n, x) const __vprof_u64 __vprof_id_##n = (__vprof_u64)(x);
#define __VPROF_TYPE(n, x) (__vprof_id_##n ? (x) : (const char *)0)
#define __VPROF_TIME(n, x) (__vprof_id_##n ? (__vprof_u64)(x) : 0)
#define __VPROF_TYPED_ENTRY(n, f, id, type) \
  __VPROF_ID(n, id)                         \
  const int __vprof_hook_##n __VPROF_UNUSED = __vprof_do_##f(__vprof_id_##n, __VPROF_TYPE(n, type));
#define __VPROF_TYPED_EXIT(n, f, id, type)                            \
  __VPROF_ID(n, id)                                                   \
  const struct __vprof_typed_args __vprof_hook_##n __VPROF_EXITS(f) = \
      __vprof_typed(__vprof_id_##n, __VPROF_TYPE(n, type));
#define __VPROF_CREATED_ENTRY(n, id, type, at, clock) \
  __VPROF_ID(n, id)                                   \
  const int __vprof_hook_##n __VPROF_UNUSED =         \
      __vprof_do_created(__vprof_id_##n, __VPROF_TYPE(n, type), __VPROF_TIME(n, at), clock);
#define __VPROF_CREATED_EXIT(n, id, type, at, clock)                          \
  __VPROF_ID(n, id)                                                           \
  const struct __vprof_created_args __vprof_hook_##n __VPROF_EXITS(created) = \
      __vprof_created(__vprof_id_##n, __VPROF_TYPE(n, type), __VPROF_TIME(n, at), clock);

/* Nothing of a step of a lock is evaluated unless it is wanted, and mode and owner only if there is an object. */
#define __VPROF_LOCKED(n, x) const __vprof_u64 __vprof_id_##n = __vprof_wants_locks() ? (__vprof_u64)(x) : 0;
#define __VPROF_LOCK_ENTRY(n, step, x, mode, owner) \
  __VPROF_LOCKED(n, x)                              \
  const int __vprof_hook_##n __VPROF_UNUSED =       \
      __vprof_id_##n ? __vprof_do_lock(step, __vprof_id_##n, (int)(mode), (__vprof_u64)(owner)) : 0;
#define __VPROF_LOCK_EXIT(n, step, x, mode, owner)                                           \
  __VPROF_LOCKED(n, x)                                                                       \
  const struct __vprof_lock_args __vprof_hook_##n __VPROF_EXITS(lock) =                      \
      __vprof_id_##n ? __vprof_lock(step, __vprof_id_##n, (int)(mode), (__vprof_u64)(owner)) \
                     : __vprof_lock(-1, 0, 0, 0);

/* `return e;` of a function with a task in its returned value becomes `return __vprof_returned = (e), ...;`. The
 * argument is its type, which may hold commas.
 */
#define __VPROF_RETURNED(...)                                                  \
  __typeof__(__VA_ARGS__) __vprof_returned __attribute__((__uninitialized__)); \
  __vprof_u64 __vprof_task __VPROF_EXITS(returned) = 0;
#define __VPROF_RETURNED_END , __vprof_task = (__vprof_u64)__vprof_returned, __vprof_returned

/* At a call, which is an operand of the same comma expression: what it returned and the object of a sync entry are kept
 * in variables of the function, k and n being the call's own. */
#define __VPROF_AT(n, f, x) ((void)__vprof_do_##f((__vprof_u64)(x)))
#define __VPROF_TYPED_AT(n, f, id, type) \
  ((void)__extension__({ __VPROF_ID(n, id) __vprof_do_##f(__vprof_id_##n, __VPROF_TYPE(n, type)); }))
#define __VPROF_CREATED_AT(n, id, type, at, clock)                                                           \
  ((void)__extension__({                                                                                     \
    __VPROF_ID(n, id) __vprof_do_created(__vprof_id_##n, __VPROF_TYPE(n, type), __VPROF_TIME(n, at), clock); \
  }))
#define __VPROF_LOCK_AT(n, step, x, mode, owner)                                                   \
  ((void)__extension__({                                                                           \
    __VPROF_LOCKED(n, x)                                                                           \
    __vprof_id_##n ? __vprof_do_lock(step, __vprof_id_##n, (int)(mode), (__vprof_u64)(owner)) : 0; \
  }))
#ifdef __cplusplus
/* A temporary of the call's full expression ends what the call has begun if an exception leaves it. */
struct __vprof_object {
  __vprof_u64 id;
  int open;
};
#define __VPROF_CLOSER(name)                                                       \
  struct __vprof_closer_##name {                                                   \
    __vprof_object &object;                                                        \
    __VPROF_MEMBER __vprof_closer_##name(__vprof_object &begun) : object(begun) {} \
    __VPROF_MEMBER ~__vprof_closer_##name() {                                      \
      if (object.open) __vprof_do_##name(object.id);                               \
    }                                                                              \
  };
#define __VPROF_MEMBER __inline__ __attribute__((__always_inline__, __nodebug__, __nothrow__))
__VPROF_CLOSER(wait_end)
__VPROF_CLOSER(wake_done)
#define __VPROF_KEEP_OBJECT(n) __vprof_object __vprof_object_##n __attribute__((__uninitialized__));
#define __VPROF_AT_OBJECT(n, f, g, x)                                                           \
  ((void)__vprof_do_##f(__vprof_object_##n.id = (__vprof_u64)(x)), __vprof_object_##n.open = 1, \
   (void)__vprof_closer_##g(__vprof_object_##n))
#define __VPROF_DONE_OBJECT(n, g) ((void)(__vprof_object_##n.open = 0), (void)__vprof_do_##g(__vprof_object_##n.id))
#else
#define __VPROF_KEEP_OBJECT(n) __vprof_u64 __vprof_object_##n __attribute__((__uninitialized__));
#define __VPROF_AT_OBJECT(n, f, g, x) ((void)__vprof_do_##f(__vprof_object_##n = (__vprof_u64)(x)))
#define __VPROF_DONE_OBJECT(n, g) ((void)__vprof_do_##g(__vprof_object_##n))
#endif
/* A name is made only if the call has waited, and what it waited for has none. */
#define __VPROF_KEEP_WAITS(n) __vprof_u64 __vprof_waits_##n __attribute__((__uninitialized__));
#define __VPROF_AT_WAITS(n) ((void)(__vprof_waits_##n = __vprof_waits()))
#define __VPROF_NAME_WAITS(n, x) \
  (__vprof_unnamed_since(__vprof_waits_##n) ? __vprof_c_name_waits(__vprof_waits_##n, x) : (void)0)
#define __VPROF_KEEP_VALUE(n, k, ...) __typeof__(__VA_ARGS__) __vprof_value_##k __attribute__((__uninitialized__));
/* No lvalue, as the call was none. */
#define __VPROF_VALUE(k) ((__typeof__(__vprof_value_##k))(__vprof_value_##k))
