package org.voltdb;

import java.nio.ByteBuffer;

/** Where conflicts with other clusters are reported: Sites is one. */
public final class DRConflictReporter {
    private DRConflictReporter() {}

    static int reportDRConflict(int partition, int remote, long time, String table, boolean replicated, int action,
        int deletion, ByteBuffer a, ByteBuffer b, ByteBuffer c, ByteBuffer d, int insertion, ByteBuffer e, ByteBuffer f,
        ByteBuffer g, ByteBuffer h) {
        throw new UnsupportedOperationException("replication");
    }
}
