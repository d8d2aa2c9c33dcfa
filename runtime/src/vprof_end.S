/* Linked last into every instrumented module (PROBE_ABI.md): a whole page, so that the section of switch bytes ends on one. */
        .section vprof_switch, "aw", @progbits
        .balign 4096
        .zero 4096
        .section .note.GNU-stack, "", @progbits
