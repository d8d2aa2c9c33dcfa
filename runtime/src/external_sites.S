/* What makes libvprof a module with sites: a switch byte for each function of external_functions.def, and the unit metadata
 * that describes them (instrumenter/UNIT_METADATA.md). Linked behind vprof_begin, as any instrumented code.
 * A function's id is the one that calls of C code have in the call graph. An alias has no site: it calls the function that
 * has. */
        .altmacro
        /* A number as text. */
        .macro VPROF_DECIMAL number
        .ascii "\number"
        .endm
        .macro VPROF_COMMA_AFTER count
        .if \count
        .ascii ","
        .endif
        .endm

#define VPROF_NAMES(name) .ascii "{\"id\":\"c:@F@"; .ascii #name; .ascii "\",\"name\":\""; .ascii #name; .ascii "\""
#define VPROF_PLACE ",\"file\":\"the C library\",\"line\":0,\"statements\":0,\"noreturn\":false,\"indirect\":[]"

        .section .vprof_meta, "", @progbits
        .balign 8
        .ascii "VPUM"
        .long 1
        .quad vprof_external_switches
        .long vprof_external_count
        .long .Lpayload_end - .Lpayload
.Lpayload:
        .ascii "{\"schema\":\"vprof-unit/1\",\"unit\":\"the C library\",\"language\":\"c\",\"status\":\"instrumented\","
        .ascii "\"reason\":\"\",\"taken\":[],\"matched\":[],\"functions\":["

        .set vprof_next, 0
#define VPROF_EXTERNAL(type, name, parameters, arguments)                        \
        VPROF_COMMA_AFTER vprof_next; VPROF_NAMES(name);                         \
        .set .Lsite_##name, vprof_next; .set vprof_next, vprof_next + 1;         \
        .ascii ",\"site\":"; VPROF_DECIMAL %.Lsite_##name;                       \
        .ascii ",\"left\":null,\"calls\":[]"; .ascii VPROF_PLACE; .ascii "}"
#define VPROF_EXTERNAL_CHECKED(type, symbol, name, parameters, arguments)
#define VPROF_EXTERNAL_ALIAS(type, symbol, name, parameters, arguments)          \
        .ascii ","; VPROF_NAMES(symbol); .ascii ",\"site\":null,\"left\":\"alias\",\"calls\":[["; \
        VPROF_DECIMAL %.Lsite_##name; .ascii ",0]]"; .ascii VPROF_PLACE; .ascii "}"
#include "external_functions.def"
        .set vprof_external_count, vprof_next

        /* The callees that aliases name, in the order of their sites. */
        .ascii "],\"symbols\":["
        .set vprof_next, 0
#define VPROF_EXTERNAL(type, name, parameters, arguments)                        \
        VPROF_COMMA_AFTER vprof_next; VPROF_NAMES(name); .ascii ",\"noreturn\":false}"; \
        .set vprof_next, vprof_next + 1
#include "external_functions.def"
        .ascii "]}"
.Lpayload_end:
        .balign 8

        .section vprof_switch, "aw", @progbits
        .globl vprof_external_switches
        .hidden vprof_external_switches
        .type vprof_external_switches, @object
vprof_external_switches:
        .zero vprof_external_count
        .size vprof_external_switches, . - vprof_external_switches

        .section .note.GNU-stack, "", @progbits
