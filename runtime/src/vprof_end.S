/* Linked last into every instrumented module (PROBE_ABI.md): a whole page, so that the section of switch bytes ends on one.
 * As in vprof_begin, "retain": lld drops what only __start_ symbols name (--gc-sections). */
        .section vprof_switch, "awR", @progbits
        .balign 4096
        .zero 4096
        .section .note.GNU-stack, "", @progbits
