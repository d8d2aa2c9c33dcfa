package org.voltdb;

import java.nio.ByteBuffer;
import org.voltcore.utils.DBBPool.BBContainer;

/** Where changes for other clusters go: Sites is one. */
public final class PartitionDRGateway {
    private PartitionDRGateway() {}

    static long pushDRBuffer(int partition, long first, long last, long handle, long unique, long rows, int type,
        BBContainer buffer) {
        throw new UnsupportedOperationException("replication");
    }

    static void reportDRBuffer(int partition, String reason, ByteBuffer buffer) {
        throw new UnsupportedOperationException("replication");
    }

    static void pushPoisonPill(int partition, String reason, BBContainer buffer) {
        throw new UnsupportedOperationException("replication");
    }
}
