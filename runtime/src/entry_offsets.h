/* Where entry.S finds the fields it uses: checked against the structs in probe.cpp. Read by the assembler as well: only
 * #defines. Bytes, but for the counts. */
#ifndef VPROF_ENTRY_OFFSETS_H
#define VPROF_ENTRY_OFFSETS_H

#define VPROF_THREAD_TSC_SLOT 8
#define VPROF_THREAD_CALLS 16
#define VPROF_THREAD_LOOK_BY 24

#define VPROF_SLOT_WRITING 32
#define VPROF_SLOT_DEPTH 40
#define VPROF_SLOT_TAIL 64
#define VPROF_SLOT_LIMIT 72
#define VPROF_SLOT_FRAMES 192
#define VPROF_SLOT_RECORDS 33728

#define VPROF_FRAME_ADDRESS 0
#define VPROF_FRAME_START 8
#define VPROF_FRAME_TAG 16
#define VPROF_FRAME_HEAD 24
#define VPROF_FRAME_SHIFT 5 /* log2 of a frame's bytes */

#define VPROF_RECORD_SHIFT 4 /* log2 of a record's bytes */
#define VPROF_MAX_FRAMES 1024
#define VPROF_SITE_BITS 22
#define VPROF_BY_RETURN_ADDRESS 0x8000
#define VPROF_TIME_BITS 48

#endif
