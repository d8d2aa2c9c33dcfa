package org.voltdb.export;

import org.voltcore.utils.DBBPool.BBContainer;

/** Where exported rows go: a table of Sites exports none. */
public final class ExportManager {
    private ExportManager() {}

    static void pushExportBuffer(int partition, String table, long offset, long committed, long rows, long id,
        long handle, long unique, BBContainer buffer) {
        throw new UnsupportedOperationException("export");
    }
}
