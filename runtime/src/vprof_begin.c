/* Linked first into every instrumented module (PROBE_ABI.md): starts the section of switch bytes on a page with its
 * header, starts the section behind it on the next free page, and registers the module with the runtime before its
 * other constructors run. The header is retained, since lld drops what only __start_ symbols name (--gc-sections). */
#include <stdint.h>

struct switch_header {
  char magic[8];
  uint32_t base; /* this and the next are written by the runtime */
  unsigned char lock_events;
  unsigned char zero[51];
};

__attribute__((section("vprof_switch"), aligned(4096), used, retain)) static struct switch_header header = {
    .magic = {'V', 'P', 'R', 'O', 'F', 'S', 'W', '4'}};

/* The bytes of units that are compiled at link time come last of all (lld -flto), so nothing that is linked could end
 * their section on a page. But linkers place sections of one kind in the order in which they first see them: this one
 * follows at once, and what is between are zeros. */
enum { PAGE = 4096 };
__attribute__((section("vprof_switch_end"), aligned(PAGE), used)) static unsigned char next_page[1] = {0};

/* What the module's probes call (PROBE_ABI.md "Calls"): an inline assembly, which has moved the stack pointer below the
 * red zone; they move it back. Its compiler need not know of any call: the stack may be misaligned, and unwinding
 * works, for the frame here is described as if it had those 128 bytes. From here on through the GOT, bound when the
 * module is loaded: the resolver of a lazy PLT entry would not keep all registers. Weak: an older libvprof has not
 * these functions, and leaves the module dormant. */
#define CALLED_BELOW(name, prepare, function)                                         \
  __asm__(                                                                            \
      ".text\n"                                                                       \
      ".globl " name "\n.hidden " name "\n.type " name                                \
      ", @function\n"                                                                 \
      ".weak " function "\n" name                                                     \
      ":\n"                                                                           \
      ".cfi_startproc\n"                                                              \
      ".cfi_def_cfa_offset 136\n.cfi_offset %rip, -136\n" prepare "  call *" function \
      "@GOTPCREL(%rip)\n"                                                             \
      "  ret $128\n"                                                                  \
      ".cfi_endproc\n"                                                                \
      ".size " name ", . - " name "\n")

/* Site number: base + place of the switch byte (rax) in the section. */
#define SITE_NUMBER                           \
  ".hidden __start_vprof_switch\n"            \
  "  leaq __start_vprof_switch(%rip), %r11\n" \
  "  subl %r11d, %eax\n"                      \
  "  addl 8(%r11), %eax\n"

CALLED_BELOW("__vprof_at_entry", SITE_NUMBER, "__vprof_enter_site");
CALLED_BELOW("__vprof_at_exit", "", "__vprof_leave_frame");

/* Objects that an older vprof compiled jump here, the place to continue in r11: nothing is recorded of them. */
#define OF_OLDER_OBJECTS(name, instructions)                                                                    \
  __asm__(".text\n.globl " name "\n.hidden " name "\n.type " name ", @function\n" name                          \
          ":\n.cfi_startproc\n.cfi_def_cfa %rsp, 0\n.cfi_register %rip, %r11\n" instructions                    \
          "  jmp *%r11\n.cfi_endproc\n.size " name ", . - " name "\n.pushsection .gnu.warning." name            \
          "\n.string \"compiled by an older vprof: its functions are not recorded until it is compiled again\"" \
          "\n.popsection\n")

OF_OLDER_OBJECTS("__vprof_entered", "  movq %r10, %rax\n");
OF_OLDER_OBJECTS("__vprof_left", "");

extern unsigned char __start_vprof_switch[] __attribute__((visibility("hidden")));
extern unsigned char __stop_vprof_switch[] __attribute__((visibility("hidden")));
extern void __vprof_register(unsigned char *start, unsigned char *stop);

/* A linker script of the program's may have put the section behind elsewhere: then the bytes end where they end. */
static unsigned char *end_of_pages(void) {
  const uintptr_t stop = (uintptr_t)__stop_vprof_switch, next = (uintptr_t)next_page;
  return next >= stop && next - stop < PAGE ? next_page : __stop_vprof_switch;
}

__attribute__((constructor(102))) static void register_module(void) {
  __vprof_register(__start_vprof_switch, end_of_pages());
}
